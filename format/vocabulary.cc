#include "format/vocabulary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace reprise {
namespace vocabulary_internal {

std::string TextOfNumber(const google::protobuf::EnumDescriptor* type,
                         int number) {
  const google::protobuf::EnumValueDescriptor* value =
      type->FindValueByNumber(number);
  if (value != nullptr) {
    const std::string& text = value->options().GetExtension(vocab::text);
    if (!text.empty()) return text;
  }
  return absl::StrCat(std::string(type->name()), "(", number, ")");
}

std::optional<int> NumberOfText(const google::protobuf::EnumDescriptor* type,
                                absl::string_view text) {
  if (text.empty()) return std::nullopt;
  for (int i = 0; i < type->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* value = type->value(i);
    if (value->options().GetExtension(vocab::text) == text) {
      return value->number();
    }
  }
  return std::nullopt;
}

std::vector<int> NumbersWithText(const google::protobuf::EnumDescriptor* type) {
  std::vector<int> numbers;
  for (int i = 0; i < type->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* value = type->value(i);
    if (!value->options().GetExtension(vocab::text).empty()) {
      numbers.push_back(value->number());
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace vocabulary_internal
}  // namespace reprise
