#include "conformance/runner/testee.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/protocol/messages.h"
#include "conformance/runner/command_line.h"
#include "conformance/runner/environment.h"

namespace reprise::conformance {

absl::StatusOr<Testee> Testee::FromLine(absl::string_view line) {
  absl::StatusOr<std::vector<std::string>> words = SplitCommand(line);
  if (!words.ok()) return words.status();
  if (words->empty()) {
    return absl::InvalidArgumentError("the testee's command is empty");
  }
  Testee testee;
  testee.command = ResolveAgainst(PersonsFolder(), *std::move(words));
  return testee;
}

DescribeResult Describe(const Testee& testee, const std::string& folder,
                        const Deadlines& deadlines,
                        std::function<bool()> cancelled) {
  DescribeResult result;
  const auto fail = [&result](v1::Outcome outcome, const std::string& detail) {
    result.record.set_outcome(outcome);
    result.record.set_detail(detail);
    return result;
  };
  for (const char* name : {"cwd", "home", "tmp"}) {
    std::error_code error;
    std::filesystem::create_directories(absl::StrCat(folder, "/", name), error);
    if (error) {
      return fail(v1::OUTCOME_HARNESS_ERROR,
                  absl::StrCat("cannot make ", folder, "/", name, ": ",
                               error.message()));
    }
  }
  const std::string out = folder + "/description.json";
  AttemptOptions options;
  options.command = testee.command;
  options.command.insert(options.command.end(), {"describe", "--out=" + out});
  options.working_folder =
      testee.working_folder.empty() ? folder + "/cwd" : testee.working_folder;
  options.environment =
      TesteeEnvironment(testee.pass, folder + "/home", folder + "/tmp");
  options.stdout_path = folder + "/stdout";
  options.stderr_path = folder + "/stderr";
  options.deadlines = deadlines;
  options.cancelled = std::move(cancelled);
  result.record = RunAttempt(options).record;
  if (result.record.outcome() != v1::OUTCOME_FINISHED) return result;

  absl::StatusOr<Description> description = ReadDescription(out);
  if (!description.ok()) {
    return fail(v1::OUTCOME_PROTOCOL_VIOLATION,
                absl::StrCat("\"describe\" ended with exit code 0, but: ",
                             description.status().message()));
  }
  if (description->protocol() != kProtocolVersion) {
    return fail(v1::OUTCOME_PROTOCOL_VIOLATION,
                absl::StrCat("its description is of protocol \"",
                             description->protocol(), "\"; expected \"",
                             kProtocolVersion, "\""));
  }
  result.description = *std::move(description);
  return result;
}

}  // namespace reprise::conformance
