#include "format/v2/value_digest.h"

#include <algorithm>
#include <cstring>

#include "format/digest/canonical_hasher.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "reprise/spec/v2/annotations.pb.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

template <typename Bits, typename Float>
uint64_t BitsOf(Float value) {
  Bits bits;
  static_assert(sizeof(bits) == sizeof(value), "bits of a float");
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

void HashMessage(const Message& message, CanonicalHasher* hasher);

// One value of a field; `index` is -1 when it is not repeated.
void HashValue(const Message& message, const FieldDescriptor* field, int index,
               CanonicalHasher* hasher) {
  const Reflection* r = message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return hasher->Number(repeated ? r->GetRepeatedBool(message, field, index)
                                     : r->GetBool(message, field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return hasher->Number(repeated
                                ? r->GetRepeatedEnumValue(message, field, index)
                                : r->GetEnumValue(message, field));
    case FieldDescriptor::CPPTYPE_INT32:
      return hasher->Number(static_cast<int64_t>(
          repeated ? r->GetRepeatedInt32(message, field, index)
                   : r->GetInt32(message, field)));
    case FieldDescriptor::CPPTYPE_INT64:
      return hasher->Number(repeated
                                ? r->GetRepeatedInt64(message, field, index)
                                : r->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return hasher->Number(repeated
                                ? r->GetRepeatedUInt32(message, field, index)
                                : r->GetUInt32(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return hasher->Number(repeated
                                ? r->GetRepeatedUInt64(message, field, index)
                                : r->GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return hasher->Number(
          BitsOf<uint32_t>(repeated ? r->GetRepeatedFloat(message, field, index)
                                    : r->GetFloat(message, field)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return hasher->Number(BitsOf<uint64_t>(
          repeated ? r->GetRepeatedDouble(message, field, index)
                   : r->GetDouble(message, field)));
    case FieldDescriptor::CPPTYPE_STRING:
      return hasher->String(repeated
                                ? r->GetRepeatedString(message, field, index)
                                : r->GetString(message, field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return HashMessage(repeated ? r->GetRepeatedMessage(message, field, index)
                                  : r->GetMessage(message, field),
                         hasher);
  }
}

void HashMessage(const Message& message, CanonicalHasher* hasher) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    fields.push_back(message.GetDescriptor()->field(i));
  }
  std::sort(fields.begin(), fields.end(),
            [](const FieldDescriptor* a, const FieldDescriptor* b) {
              return a->number() < b->number();
            });
  for (const FieldDescriptor* field : fields) {
    if (field->options().GetExtension(v2::outside_value)) continue;
    if (field->is_repeated()) {
      const int count = reflection->FieldSize(message, field);
      if (count == 0) continue;
      hasher->Number(field->number());
      hasher->Number(count);
      for (int i = 0; i < count; ++i) HashValue(message, field, i, hasher);
    } else if (reflection->HasField(message, field)) {
      hasher->Number(field->number());
      HashValue(message, field, -1, hasher);
    }
  }
  hasher->Number(0);
}

}  // namespace

std::string ValueDigest(const v2::Manifest& manifest,
                        const std::vector<TableEntry>& tensors) {
  CanonicalHasher hasher;
  hasher.Raw("reprise-value-v1");
  hasher.Number(manifest.inventory_size());
  for (const v2::ItemRecord& record : manifest.inventory()) {
    hasher.Number(record.item());
    hasher.Number(record.presence());
  }
  HashMessage(manifest, &hasher);
  hasher.Number(tensors.size());
  for (const TableEntry& entry : tensors) {
    hasher.Number(entry.item);
    hasher.String(entry.name);
    hasher.String(entry.part);
    hasher.Number(static_cast<uint64_t>(entry.dtype));
    hasher.Number(entry.shape.size());
    for (uint64_t extent : entry.shape) hasher.Number(extent);
    for (uint32_t dimension : entry.order) hasher.Number(dimension);
    hasher.Number(entry.alias);
    hasher.Raw(entry.root);
  }
  return hasher.Finish();
}

}  // namespace reprise
