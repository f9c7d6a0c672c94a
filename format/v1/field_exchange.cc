#include "format/v1/field_exchange.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/validate.h"
#include "google/protobuf/descriptor.h"

namespace reprise {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void FieldExchange::Open(Message* message, std::string path) {
  message_ = message;
  path_ = std::move(path);
}

template <typename T, typename Get, typename Set>
void FieldExchange::Exchange(Item item, const char* name, T* value, Get get,
                             Set set) {
  if (!status_.ok()) return;
  const FieldDescriptor* field =
      message_->GetDescriptor()->FindFieldByName(name);
  const Reflection* reflection = message_->GetReflection();
  const bool saved = IsSaved(*snapshot_, item);
  const bool present = direction_ == Direction::kEncode
                           ? *value != T()
                           : reflection->HasField(*message_, field);
  if (present && !saved) {
    status_ =
        MakeRefusal(Refusal::INVALID_VALUE,
                    absl::StrCat(TextOf(item), ": field ", path_, ".", name,
                                 " has a value, but the record says ",
                                 TextOf(snapshot_->Find(item)->presence)));
    return;
  }
  if (!saved) return;
  if (direction_ == Direction::kEncode) {
    set(reflection, field, *value);
  } else if (present) {
    *value = get(reflection, field);
  } else {
    status_ = MakeRefusal(Refusal::MISSING_ITEM,
                          absl::StrCat(TextOf(item),
                                       ": recorded as SAVED, but "
                                       "field ",
                                       path_, ".", name, " is absent"));
  }
}

template <typename T, typename Get, typename Set>
void FieldExchange::ExchangeOptional(const char* name, std::optional<T>* value,
                                     Get get, Set set) {
  if (!status_.ok()) return;
  const FieldDescriptor* field =
      message_->GetDescriptor()->FindFieldByName(name);
  const Reflection* reflection = message_->GetReflection();
  if (direction_ == Direction::kEncode) {
    if (value->has_value()) set(reflection, field, **value);
  } else if (reflection->HasField(*message_, field)) {
    *value = get(reflection, field);
  } else {
    value->reset();
  }
}

// The two directions of one scalar type, by reflection.
#define REPRISE_GET(Type)                                          \
  [this](const Reflection* reflection, const FieldDescriptor* f) { \
    return reflection->Get##Type(*message_, f);                    \
  }
#define REPRISE_SET(Type)                                        \
  [this](const Reflection* reflection, const FieldDescriptor* f, \
         const auto& v) { reflection->Set##Type(message_, f, v); }

void FieldExchange::Field(Item item, const char* name, std::string* value) {
  Exchange(item, name, value, REPRISE_GET(String), REPRISE_SET(String));
}
void FieldExchange::Field(Item item, const char* name, uint64_t* value) {
  Exchange(item, name, value, REPRISE_GET(UInt64), REPRISE_SET(UInt64));
}
void FieldExchange::Field(Item item, const char* name, uint32_t* value) {
  Exchange(item, name, value, REPRISE_GET(UInt32), REPRISE_SET(UInt32));
}
void FieldExchange::Field(Item item, const char* name, double* value) {
  Exchange(item, name, value, REPRISE_GET(Double), REPRISE_SET(Double));
}
void FieldExchange::Field(Item item, const char* name, float* value) {
  Exchange(item, name, value, REPRISE_GET(Float), REPRISE_SET(Float));
}
void FieldExchange::Field(Item item, const char* name, bool* value) {
  Exchange(item, name, value, REPRISE_GET(Bool), REPRISE_SET(Bool));
}
void FieldExchange::EnumField(Item item, const char* name, int* value) {
  Exchange(item, name, value, REPRISE_GET(EnumValue), REPRISE_SET(EnumValue));
}

void FieldExchange::Optional(const char* name, std::string* value) {
  std::optional<std::string> optional;
  if (!value->empty()) optional = *value;
  ExchangeOptional(name, &optional, REPRISE_GET(String), REPRISE_SET(String));
  *value = std::move(optional).value_or("");
}
void FieldExchange::Optional(const char* name, std::optional<double>* value) {
  ExchangeOptional(name, value, REPRISE_GET(Double), REPRISE_SET(Double));
}
void FieldExchange::Optional(const char* name, std::optional<float>* value) {
  ExchangeOptional(name, value, REPRISE_GET(Float), REPRISE_SET(Float));
}
void FieldExchange::Optional(const char* name, std::optional<uint64_t>* value) {
  ExchangeOptional(name, value, REPRISE_GET(UInt64), REPRISE_SET(UInt64));
}
void FieldExchange::Optional(const char* name, std::optional<bool>* value) {
  ExchangeOptional(name, value, REPRISE_GET(Bool), REPRISE_SET(Bool));
}

#undef REPRISE_GET
#undef REPRISE_SET

}  // namespace reprise
