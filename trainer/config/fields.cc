#include "trainer/config/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/message.h"

namespace reprise {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::reprise::trainer::v1::TrainerConfig;

// Edits (insert, delete, replace) between two words.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

absl::Status Unknown(absl::string_view kind, absl::string_view name,
                     const std::vector<std::string>& valid) {
  auto nearest =
      std::min_element(valid.begin(), valid.end(),
                       [&](const std::string& a, const std::string& b) {
                         return EditDistance(name, a) < EditDistance(name, b);
                       });
  return absl::InvalidArgumentError(absl::StrCat(
      "configuration has no ", kind, " \"", name, "\"; did you mean \"",
      *nearest, "\"? Valid: ", absl::StrJoin(valid, ", ")));
}

absl::Status WrongType(const ConfigFieldRef& ref, absl::string_view expected,
                       absl::string_view found) {
  return absl::InvalidArgumentError(absl::StrCat(
      ref.path(), ": expected ", expected, ", found \"", found, "\""));
}

}  // namespace

std::string ConfigFieldRef::path() const {
  return absl::StrCat(group->name(), ".", field->name());
}

vocabulary::v1::ResumeRule ConfigFieldRef::rule() const {
  return field->options().GetExtension(vocabulary::v1::resume_rule);
}

std::vector<ConfigFieldRef> AllConfigFields() {
  std::vector<ConfigFieldRef> refs;
  const auto* config = TrainerConfig::descriptor();
  for (int g = 0; g < config->field_count(); ++g) {
    const auto* group = config->field(g);
    for (int f = 0; f < group->message_type()->field_count(); ++f) {
      refs.push_back({group, group->message_type()->field(f)});
    }
  }
  return refs;
}

absl::StatusOr<ConfigFieldRef> FindConfigField(absl::string_view path) {
  size_t dot = path.find('.');
  std::string group_name(path.substr(0, dot));
  std::string field_name(dot == absl::string_view::npos ? ""
                                                        : path.substr(dot + 1));
  std::vector<std::string> groups, fields;
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    if (groups.empty() || groups.back() != ref.group->name()) {
      groups.push_back(ref.group->name());
    }
    if (ref.group->name() != group_name) continue;
    if (ref.field->name() == field_name) return ref;
    fields.push_back(ref.path());
  }
  if (fields.empty()) return Unknown("group", group_name, groups);
  return Unknown("field", path, fields);
}

bool HasConfigField(const TrainerConfig& config, const ConfigFieldRef& ref) {
  const Message& group = config.GetReflection()->GetMessage(config, ref.group);
  return group.GetReflection()->HasField(group, ref.field);
}

void ClearConfigField(TrainerConfig* config, const ConfigFieldRef& ref) {
  Message* group = config->GetReflection()->MutableMessage(config, ref.group);
  group->GetReflection()->ClearField(group, ref.field);
}

std::string FormatConfigField(const TrainerConfig& config,
                              const ConfigFieldRef& ref) {
  const Message& group = config.GetReflection()->GetMessage(config, ref.group);
  const auto& reflection = *group.GetReflection();
  switch (ref.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(group, ref.field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(group, ref.field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection.GetUInt32(group, ref.field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(group, ref.field));
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      // The shortest text that reads back to the same bits.
      char text[32];
      double value = reflection.GetDouble(group, ref.field);
      return {text, std::to_chars(text, text + sizeof text, value).ptr};
    }
    default:
      // A test goes over every field of the schema, so this is not reached.
      return absl::StrCat("(no text form for ", ref.field->cpp_type_name(),
                          ")");
  }
}

absl::Status ParseConfigField(TrainerConfig* config, const ConfigFieldRef& ref,
                              absl::string_view value) {
  // Parsed before the group is touched: an error leaves `config` as it was.
  auto group = [&] {
    return config->GetReflection()->MutableMessage(config, ref.group);
  };
  switch (ref.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      Message* message = group();
      message->GetReflection()->SetString(message, ref.field,
                                          std::string(value));
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (value != "true" && value != "false") {
        return WrongType(ref, "true or false", value);
      }
      Message* message = group();
      message->GetReflection()->SetBool(message, ref.field, value == "true");
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number;
      if (!absl::SimpleAtoi(value, &number)) {
        return WrongType(ref, "an integer from 0 to 4294967295", value);
      }
      Message* message = group();
      message->GetReflection()->SetUInt32(message, ref.field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number;
      if (!absl::SimpleAtoi(value, &number)) {
        return WrongType(ref, "an integer from 0 to 18446744073709551615",
                         value);
      }
      Message* message = group();
      message->GetReflection()->SetUInt64(message, ref.field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double number;
      if (!absl::SimpleAtod(value, &number) || !std::isfinite(number)) {
        return WrongType(ref, "a finite number", value);
      }
      Message* message = group();
      message->GetReflection()->SetDouble(message, ref.field, number);
      return absl::OkStatus();
    }
    default:
      return WrongType(ref, "a field with a text form", value);
  }
}

}  // namespace reprise
