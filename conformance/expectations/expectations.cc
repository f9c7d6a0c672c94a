#include "conformance/expectations/expectations.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "conformance/judge/judge.h"
#include "format/vocabulary.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "re2/re2.h"

namespace reprise::conformance {
namespace {

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) {
      text = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ",
                          message);
    }
  }
  std::string text;
};

// The end of the last day that it holds.
bool ParseDate(const std::string& date, absl::Time* end) {
  absl::Time start;
  std::string error;
  if (date.size() != 10 ||
      !absl::ParseTime("%Y-%m-%d", date, absl::UTCTimeZone(), &start, &error)) {
    return false;
  }
  *end = start + absl::Hours(24);
  return true;
}

absl::Status CheckExpectation(const v1::Expectation& one, int number) {
  auto bad = [number](const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat("expectation ", number, ": ", what));
  };
  if (one.case_pattern().empty()) return bad("case_pattern is missing");
  const RE2 pattern(one.case_pattern(), RE2::Quiet);
  if (!pattern.ok()) {
    return bad(absl::StrCat("case_pattern \"", one.case_pattern(),
                            "\": ", pattern.error()));
  }
  if (one.names_size() == 0) return bad("names are missing");
  for (const std::string& name : one.names()) {
    // "a:X or b:Y" is the name of a finding that cannot tell.
    for (absl::string_view part : absl::StrSplit(name, " or ")) {
      const std::vector<std::string> words = absl::StrSplit(part, ':');
      if (words.size() != 2 || !ParseText<Item>(words[0]).has_value() ||
          !ParseText<Fault>(words[1]).has_value()) {
        return bad(absl::StrCat("expected item:FAULT, found \"", name, "\""));
      }
    }
  }
  if (one.reason().empty()) return bad("reason is missing");
  absl::Time end;
  if (!ParseDate(one.expires(), &end)) {
    return bad(absl::StrCat("expires: expected YYYY-MM-DD, found \"",
                            one.expires(), "\""));
  }
  return absl::OkStatus();
}

std::string Key(const v1::CaseResult& result) {
  return absl::StrCat(result.profile(), "/", result.case_name());
}

void Apply(const v1::Expectation& one, absl::Time now, v1::CaseResult* result) {
  v1::Verdict* verdict = result->mutable_verdict();
  absl::Time end;
  ParseDate(one.expires(), &end);
  const std::set<std::string> expected(one.names().begin(), one.names().end());
  const std::vector<std::string> found_list = NamesOf(*verdict);
  const std::set<std::string> found(found_list.begin(), found_list.end());
  const std::string known = absl::StrCat("expected to fail: ", one.reason());
  switch (verdict->outcome()) {
    case v1::PASS:
      verdict->set_outcome(v1::XPASS);
      verdict->set_summary(absl::StrCat(
          "passes although a failure is expected: remove the expectation"));
      result->add_remarks(known);
      return;
    case v1::FAIL:
      break;
    default:
      // Says nothing about the failure either way.
      return;
  }
  if (found != expected) {
    result->add_remarks(absl::StrCat("not the failure that is expected (",
                                     absl::StrJoin(expected, ", "),
                                     "): ", one.reason()));
    return;
  }
  if (now >= end) {
    result->add_remarks(absl::StrCat("the expectation expired on ",
                                     one.expires(), ": ", one.reason()));
    return;
  }
  verdict->set_outcome(v1::XFAIL);
  result->add_remarks(absl::StrCat(known, " (until ", one.expires(), ")"));
}

}  // namespace

absl::StatusOr<v1::Expectations> ParseExpectations(absl::string_view text) {
  v1::Expectations expectations;
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), &expectations)) {
    return absl::InvalidArgumentError(error.text);
  }
  for (int i = 0; i < expectations.expectation_size(); ++i) {
    absl::Status status = CheckExpectation(expectations.expectation(i), i + 1);
    if (!status.ok()) return status;
  }
  return expectations;
}

absl::StatusOr<v1::Expectations> ReadExpectations(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("cannot open ", path));
  }
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  absl::StatusOr<v1::Expectations> expectations = ParseExpectations(text);
  if (!expectations.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", expectations.status().message()));
  }
  return expectations;
}

absl::Status ApplyExpectations(const v1::Expectations& expectations,
                               absl::Time now, v1::Report* report) {
  std::vector<bool> used(expectations.expectation_size(), false);
  for (v1::CaseResult& result : *report->mutable_results()) {
    for (int i = 0; i < expectations.expectation_size(); ++i) {
      const v1::Expectation& one = expectations.expectation(i);
      if (!RE2::FullMatch(Key(result), one.case_pattern())) continue;
      used[i] = true;
      Apply(one, now, &result);
      break;
    }
  }
  for (int i = 0; i < expectations.expectation_size(); ++i) {
    if (used[i]) continue;
    v1::CaseResult& result = *report->add_results();
    result.set_case_name(absl::StrCat(
        "expectation \"", expectations.expectation(i).case_pattern(), "\""));
    result.mutable_verdict()->set_outcome(v1::HARNESS_ERROR);
    result.mutable_verdict()->set_summary(
        "matches no case: correct its pattern or remove it");
  }
  return absl::OkStatus();
}

}  // namespace reprise::conformance
