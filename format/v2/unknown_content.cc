#include "format/v2/unknown_content.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The field that says which element of a list it is; null: its place does, and
// that may change.
const FieldDescriptor* KeyOf(const google::protobuf::Descriptor* type) {
  for (const char* name : {"name", "path", "generator", "item"}) {
    const FieldDescriptor* field = type->FindFieldByName(name);
    if (field != nullptr && !field->is_repeated()) return field;
  }
  return nullptr;
}

std::string KeyText(const Message& element, const FieldDescriptor* key) {
  const Reflection* reflection = element.GetReflection();
  return key->enum_type() != nullptr
             ? absl::StrCat(reflection->GetEnumValue(element, key))
             : reflection->GetString(element, key);
}

void CopyKey(const Message& from, const FieldDescriptor* key, Message* to) {
  const Reflection* reflection = from.GetReflection();
  if (key->enum_type() != nullptr) {
    reflection->SetEnumValue(to, key, reflection->GetEnumValue(from, key));
  } else {
    reflection->SetString(to, key, reflection->GetString(from, key));
  }
}

bool IsRecordOfUnknownItem(const Message& message) {
  if (message.GetDescriptor() != v2::ItemRecord::descriptor()) return false;
  const auto& record = static_cast<const v2::ItemRecord&>(message);
  return record.item() > Item::WITNESS;
}

// Copies what is unknown below `from` to `to`, with the names on the way.
// Returns whether there is any. `lost` gets the path of what cannot be found
// again.
bool Extract(const Message& from, const std::string& path, Message* to,
             std::string* lost) {
  const Reflection* reflection = from.GetReflection();
  bool any = false;
  if (!reflection->GetUnknownFields(from).empty()) {
    reflection->MutableUnknownFields(to)->MergeFrom(
        reflection->GetUnknownFields(from));
    any = true;
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(from, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    const std::string field_path =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (!field->is_repeated()) {
      std::unique_ptr<Message> scratch(
          reflection->GetMessage(from, field).New());
      if (!Extract(reflection->GetMessage(from, field), field_path,
                   scratch.get(), lost)) {
        continue;
      }
      any = true;
      // Columns go by the order of rows, which a change of names changes.
      if (field->message_type() == v2::TensorTable::descriptor()) {
        *lost = field_path;
      }
      reflection->MutableMessage(to, field)->CopyFrom(*scratch);
      continue;
    }
    const FieldDescriptor* key = KeyOf(field->message_type());
    for (int i = 0; i < reflection->FieldSize(from, field); ++i) {
      const Message& element = reflection->GetRepeatedMessage(from, field, i);
      if (IsRecordOfUnknownItem(element)) {
        reflection->AddMessage(to, field)->CopyFrom(element);
        any = true;
        continue;
      }
      std::unique_ptr<Message> scratch(element.New());
      if (!Extract(element, field_path, scratch.get(), lost)) continue;
      any = true;
      if (key == nullptr) {
        *lost = field_path;
      } else {
        CopyKey(element, key, scratch.get());
        reflection->AddMessage(to, field)->CopyFrom(*scratch);
      }
    }
  }
  return any;
}

absl::Status NoPlace(const std::string& path) {
  return MakeRefusal(
      Refusal::INVALID_VALUE,
      absl::StrCat("what a later minor version wrote into ", path,
                   " has no place here any more: use the newer program"));
}

absl::Status Put(const Message& from, const std::string& path, Message* to) {
  const Reflection* reflection = from.GetReflection();
  reflection->MutableUnknownFields(to)->MergeFrom(
      reflection->GetUnknownFields(from));
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(from, &fields);
  for (const FieldDescriptor* field : fields) {
    // A name on the way.
    if (field->message_type() == nullptr) continue;
    const std::string field_path =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (!field->is_repeated()) {
      if (!reflection->HasField(*to, field)) return NoPlace(field_path);
      absl::Status status = Put(reflection->GetMessage(from, field), field_path,
                                reflection->MutableMessage(to, field));
      if (!status.ok()) return status;
      continue;
    }
    const FieldDescriptor* key = KeyOf(field->message_type());
    for (int i = 0; i < reflection->FieldSize(from, field); ++i) {
      const Message& element = reflection->GetRepeatedMessage(from, field, i);
      if (IsRecordOfUnknownItem(element)) {
        // Its number is above all others: records stay sorted.
        reflection->AddMessage(to, field)->CopyFrom(element);
        continue;
      }
      const std::string name = KeyText(element, key);
      Message* place = nullptr;
      for (int j = 0; j < reflection->FieldSize(*to, field); ++j) {
        Message* candidate = reflection->MutableRepeatedMessage(to, field, j);
        if (KeyText(*candidate, key) == name) place = candidate;
      }
      const std::string element_path = absl::StrCat(field_path, "[", name, "]");
      if (place == nullptr) return NoPlace(element_path);
      absl::Status status = Put(element, element_path, place);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<UnknownContent> UnknownContentOf(const v2::Manifest& message,
                                               uint32_t minor) {
  v2::Manifest unknown;
  UnknownContent content;
  if (!Extract(message, "", &unknown, &content.lost)) return std::nullopt;
  content.minor = minor;
  content.step = message.step();
  content.micro = message.accumulation().count();
  unknown.SerializeToString(&content.fields);
  return content;
}

absl::Status PutUnknownContent(const UnknownContent& content,
                               v2::Manifest* message) {
  if (!content.lost.empty()) return NoPlace(content.lost);
  if (content.step != message->step() ||
      content.micro != message->accumulation().count()) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat("what a later minor version wrote is of step ",
                     content.step, ", and this checkpoint is of step ",
                     message->step(),
                     ": a program that does not know it cannot have kept it up "
                     "to date"));
  }
  v2::Manifest unknown;
  if (!unknown.ParseFromString(content.fields)) return NoPlace("the manifest");
  return Put(unknown, "", message);
}

}  // namespace reprise
