#include "format/field_values.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/envelope.h"
#include "format/v2/fields.h"
#include "format/v2/items.h"
#include "format/v2/names.h"
#include "google/protobuf/descriptor.h"
#include "reprise/spec/v2/annotations.pb.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A snapshot whose values can be looked at whatever its records say.
v2::Manifest ValuesOf(const Snapshot& snapshot) {
  Snapshot values = snapshot;
  for (Item item : ItemsOfV2()) {
    // Steps cannot be put down without states.
    if (item == Item::OPTIM_STEP && !IsSavedV2(snapshot, item)) {
      values.MarkOmitted(item, "not there");
    } else {
      values.MarkSaved(item);
    }
  }
  v2::Manifest manifest;
  // A parameter without state has no steps, which then differ.
  ToManifest(values, &manifest).IgnoreError();
  return manifest;
}

// With as few digits as read back the same value, `digits` at least.
template <typename T>
std::string Shortest(T value, int digits) {
  std::string text;
  do {
    text = absl::StrFormat("%.*g", digits++, value);
  } while (static_cast<T>(std::strtod(text.c_str(), nullptr)) != value &&
           digits <= std::numeric_limits<T>::max_digits10);
  return text;
}

// Text of one leaf value.
std::string ValueText(const Message& message, const FieldDescriptor* field,
                      int index) {
  const Reflection* r = message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return (repeated ? r->GetRepeatedBool(message, field, index)
                       : r->GetBool(message, field))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return (repeated ? r->GetRepeatedEnum(message, field, index)
                       : r->GetEnum(message, field))
          ->name();
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(repeated ? r->GetRepeatedInt64(message, field, index)
                                   : r->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(repeated ? r->GetRepeatedUInt32(message, field, index)
                                   : r->GetUInt32(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(repeated ? r->GetRepeatedUInt64(message, field, index)
                                   : r->GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Shortest<float>(r->GetFloat(message, field), 6);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Shortest<double>(repeated
                                  ? r->GetRepeatedDouble(message, field, index)
                                  : r->GetDouble(message, field),
                              15);
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = repeated
                                   ? r->GetRepeatedString(message, field, index)
                                   : r->GetString(message, field);
      if (field->type() == FieldDescriptor::TYPE_STRING) return text;
      if (text.size() <= 32) return absl::BytesToHexString(text);
      return absl::StrCat(absl::BytesToHexString(text.substr(0, 16)), "... (",
                          text.size(), " bytes, XXH3-128 ",
                          absl::BytesToHexString(ManifestDigest(text)), ")");
    }
    default:
      return "";
  }
}

std::string KeyOf(const Message& element, int index) {
  const auto* type = element.GetDescriptor();
  for (const char* key : {"name", "path", "generator"}) {
    const FieldDescriptor* field = type->FindFieldByName(key);
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_STRING) {
      return element.GetReflection()->GetString(element, field);
    }
  }
  return absl::StrCat(index);
}

void Collect(const Message& message, Item inherited, const std::string& path,
             std::vector<FieldValue>* values) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const Item own = ItemOfField(field);
    const Item item = own != Item::ITEM_UNSPECIFIED ? own : inherited;
    // Bookkeeping of the file itself.
    if (item == Item::ITEM_UNSPECIFIED &&
        field->options().GetExtension(v2::outside_value)) {
      continue;
    }
    const std::string field_path =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    const bool names = field->message_type() == v2::Names::descriptor();
    if (names) {
      const auto& list = dynamic_cast<const v2::Names&>(
          reflection->GetMessage(message, field));
      absl::StatusOr<std::vector<std::string>> unpacked =
          UnpackNames(field_path, list);
      values->push_back(
          {item, field_path,
           unpacked.ok()
               ? absl::StrCat("[", absl::StrJoin(*unpacked, ", "), "]")
               : "damaged"});
    } else if (field->is_repeated()) {
      const int count = reflection->FieldSize(message, field);
      for (int i = 0; i < count; ++i) {
        if (field->message_type() == nullptr) {
          values->push_back({item, absl::StrCat(field_path, "[", i, "]"),
                             ValueText(message, field, i)});
          continue;
        }
        const Message& element =
            reflection->GetRepeatedMessage(message, field, i);
        Collect(element, item,
                absl::StrCat(field_path, "[", KeyOf(element, i), "]"), values);
      }
    } else if (field->message_type() != nullptr) {
      Collect(reflection->GetMessage(message, field), item, field_path, values);
    } else {
      values->push_back({item, field_path, ValueText(message, field, -1)});
    }
  }
}

}  // namespace

std::vector<FieldValue> FieldsOf(const Snapshot& snapshot) {
  std::vector<FieldValue> values;
  Collect(ValuesOf(snapshot), Item::ITEM_UNSPECIFIED, "", &values);
  std::stable_sort(
      values.begin(), values.end(),
      [](const FieldValue& a, const FieldValue& b) { return a.item < b.item; });
  return values;
}

}  // namespace reprise
