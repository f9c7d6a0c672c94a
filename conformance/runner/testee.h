// The trainer under test: a command line, and what it says about itself.
//
//   absl::StatusOr<Testee> testee = Testee::FromLine("python3 my/testee.py");
//   DescribeResult result = Describe(*testee, "/tmp/describe", Deadlines());
//   if (result.record.outcome() == v1::OUTCOME_FINISHED)
//     ... result.description.features() ...
#ifndef REPRISE_CONFORMANCE_RUNNER_TESTEE_H_
#define REPRISE_CONFORMANCE_RUNNER_TESTEE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "conformance/runner/attempt.h"

namespace reprise::conformance {

struct Testee {
  // "describe" or "run" and a flag are added to it.
  std::vector<std::string> command;
  // Where it runs. Empty: in a fresh folder for every attempt.
  std::string working_folder;
  // More of the environment: see TesteeEnvironment.
  std::vector<std::string> pass;

  // Splits as a shell does. Words that name a file or folder where the person
  // stood become absolute, as the testee runs elsewhere. Errors:
  // InvalidArgument for an empty line or an open quote.
  static absl::StatusOr<Testee> FromLine(absl::string_view line);
};

struct DescribeResult {
  // FINISHED only with a valid description.
  v1::AttemptRecord record;
  v1::Description description;
};

// Runs `<command> describe --out=F` in `folder`, which must be new; F, stdout
// and stderr stay there. A description that cannot be read or speaks another
// protocol is PROTOCOL_VIOLATION.
DescribeResult Describe(const Testee& testee, const std::string& folder,
                        const Deadlines& deadlines,
                        std::function<bool()> cancelled = nullptr);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_TESTEE_H_
