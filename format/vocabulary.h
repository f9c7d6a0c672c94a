// The shared words as people and logs see them: canonical text of the
// vocabulary's enums, and back.
//
// Example (a test as well):
//
//   std::string text = reprise::TextOf(reprise::Item::SCALER_GROWTH_TRACKER);
//   // "scaler.growth_tracker"
//   std::optional<reprise::Item> item =
//       reprise::ParseText<reprise::Item>("scaler.growth_tracker");
//
// The text is the `text` option in spec/vocabulary/v1/vocabulary.proto; nothing
// here repeats it. Thread-safe.
#ifndef REPRISE_FORMAT_VOCABULARY_H_
#define REPRISE_FORMAT_VOCABULARY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/generated_enum_reflection.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

namespace reprise {

namespace vocab = ::reprise::vocabulary::v1;
using Item = vocab::Item;
using Fault = vocab::Fault;
using Presence = vocab::Presence;
using ResumeRule = vocab::ResumeRule;
using ResumeLevel = vocab::ResumeLevel;
using Refusal = vocab::Refusal;
using ExitCode = vocab::ExitCode;

namespace vocabulary_internal {
std::string TextOfNumber(const google::protobuf::EnumDescriptor* type,
                         int number);
std::optional<int> NumberOfText(const google::protobuf::EnumDescriptor* type,
                                absl::string_view text);
std::vector<int> NumbersWithText(const google::protobuf::EnumDescriptor* type);
}  // namespace vocabulary_internal

// Canonical text of a value of one of the enums above. A value without one
// (UNSPECIFIED, or a number that this build does not know) reads "Item(77)".
template <typename E>
std::string TextOf(E value) {
  return vocabulary_internal::TextOfNumber(
      google::protobuf::GetEnumDescriptor<E>(), static_cast<int>(value));
}

// The value whose canonical text is exactly `text`; nullopt when there is none.
template <typename E>
std::optional<E> ParseText(absl::string_view text) {
  std::optional<int> number = vocabulary_internal::NumberOfText(
      google::protobuf::GetEnumDescriptor<E>(), text);
  if (!number.has_value()) return std::nullopt;
  return static_cast<E>(*number);
}

// Every value that has a text, by ascending number.
template <typename E>
std::vector<E> AllValues() {
  std::vector<E> values;
  for (int number : vocabulary_internal::NumbersWithText(
           google::protobuf::GetEnumDescriptor<E>())) {
    values.push_back(static_cast<E>(number));
  }
  return values;
}

}  // namespace reprise

#endif  // REPRISE_FORMAT_VOCABULARY_H_
