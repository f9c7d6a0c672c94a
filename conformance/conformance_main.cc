// Certifies a trainer: kills and resumes it, judges what it recorded, and
// leaves a report. `conformance --help` is the manual; README.md has examples.
//
// Exit codes: 0 pass; 12 a case did not pass, or the trainer could not be
// described; 13 stopped by a signal or by the end of --minutes (what was done
// is reported); 1 usage; 2 a folder or file that cannot be used.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "conformance/expectations/expectations.h"
#include "conformance/perturb/controls.h"
#include "conformance/report/outcome.h"
#include "conformance/report/verify.h"
#include "conformance/runner/campaign.h"
#include "conformance/runner/campaign_flags.h"
#include "conformance/runner/command_line.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

ABSL_FLAG(std::string, profile, "required",
          "how much is tried: quick, required or soak");
ABSL_FLAG(std::string, perturb, "",
          "how one item of a checkpoint is lost on purpose");
ABSL_FLAG(std::vector<std::string>, drop, {}, "ITEM=PATTERN of files to drop");
ABSL_FLAG(std::string, expectations, "",
          "text proto of failures that are known");
ABSL_FLAG(std::string, report, "", "verify: folder of the report");
ABSL_FLAG(bool, write, true, "verify: write the report's files");
ABSL_FLAG(bool, all, false, "print every case");

namespace reprise::conformance {
namespace {

namespace vocabulary = ::reprise::vocabulary::v1;

constexpr char kHelp[] =
    R"(conformance: is a run that is killed and resumed the run that was never killed?

  bazel run //conformance -- --testee='COMMAND' --out=DIR [--profile=NAME]
  bazel run //conformance -- verify DIR

COMMAND is the adapter of your trainer: "describe --out=F" and "run --request=F"
are added to it (conformance/PROTOCOL.md; for a trainer that you cannot change,
conformance/log_adapter/GUIDE.md). It is run uninterrupted, killed at planned and
at random moments, resumed, and judged from what it recorded. DIR, which must be
new or empty, gets report.html, report.json, junit.xml and all records.

What is tried
  --profile=quick      the grid of resume points as far as 12 kills go: minutes
  --profile=required   the default: the whole grid, every hold point, saves,
                       loads, SIGTERM, and random kills: 90 kills
  --profile=soak       500 kills
  --kills=N            planned kills, instead of the profile's number
  --minutes=M          stop after M minutes and report what was done
  --seed=N             what the kills are drawn from (1)
  --only=PROFILE/CASE,...  only these cases, with their baselines
  --noprobe            do not ask the honesty probes

What the trainer is asked for
  --workload=NAME --steps=N --save_every=N --run_seed=N --precision=fp16
  --set=NAME=VALUE,...     settings of the workload
  --pass_env=NAME,NAME=VALUE   environment of the trainer; --working_folder=DIR

Would a loss have shown? (controls; without them their row says SKIP)
  --perturb=reprise    the checkpoints are Reprise's: lose each item in turn
  --perturb='TOOL'     your tool: TOOL --list; TOOL --run_folder=D --item=NAME
  --drop=ITEM=PATTERN  an item that is a file of its own, e.g.
                       optim.moments=*/optimizer.pt

Verdicts
  --expectations=FILE  failures that are known (expectations/expectations.h)
  --all                print every case, not only those that did not pass
  verify DIR [--report=DIR2] [--nowrite]   judge DIR's records again, without
                       the trainer

Limits
  --start_deadline=2m --silence_deadline=2m --attempt_deadline=30m --grace=30s
  --log_megabytes=16 --keep=never|bad|always   run folders kept in DIR/work

Exit codes: 0 pass; 12 not; 13 stopped; 1 usage; 2 unusable folder or file.
)";

struct Profile {
  const char* name;
  uint64_t kills;
};
constexpr Profile kProfiles[] = {
    {"quick", 12}, {"required", 90}, {"soak", 500}};

int Fail(int code, const absl::Status& status) {
  fprintf(stderr, "conformance: %s\n", std::string(status.message()).c_str());
  if (code == vocabulary::EXIT_USAGE) {
    fprintf(stderr, "conformance --help says what can be asked.\n");
  }
  return code;
}

absl::StatusOr<v1::Expectations> Expected() {
  const std::string path = absl::GetFlag(FLAGS_expectations);
  if (path.empty()) return v1::Expectations();
  return ReadExpectations(
      (std::filesystem::path(PersonsFolder()) / path).string());
}

int Conclude(const VerifyOptions& options) {
  absl::StatusOr<v1::Report> report = Verify(options);
  if (!report.ok()) {
    return Fail(vocabulary::EXIT_BAD_REQUEST, report.status());
  }
  if (!options.report_folder.empty()) {
    printf("Report: %s/report.html\n", options.report_folder.c_str());
  }
  return Passed(*report) ? vocabulary::EXIT_DONE
                         : vocabulary::EXIT_TRAINING_FAILED;
}

int VerifyFolder(const std::vector<char*>& rest) {
  if (rest.size() != 3) {
    return Fail(vocabulary::EXIT_USAGE,
                absl::InvalidArgumentError("verify needs one folder"));
  }
  const std::filesystem::path here = PersonsFolder();
  VerifyOptions options;
  options.folder = (here / rest[2]).string();
  if (absl::GetFlag(FLAGS_write)) {
    options.report_folder = absl::GetFlag(FLAGS_report).empty()
                                ? options.folder
                                : (here / absl::GetFlag(FLAGS_report)).string();
  }
  options.all_cases = absl::GetFlag(FLAGS_all);
  absl::StatusOr<v1::Expectations> expectations = Expected();
  if (!expectations.ok()) {
    return Fail(vocabulary::EXIT_BAD_REQUEST, expectations.status());
  }
  options.expectations = *std::move(expectations);
  return Conclude(options);
}

int Certify(const std::vector<char*>& rest, const char* program) {
  const std::string wanted = absl::GetFlag(FLAGS_profile);
  const Profile* profile = nullptr;
  for (const Profile& one : kProfiles) {
    if (wanted == one.name) profile = &one;
  }
  if (profile == nullptr) {
    return Fail(vocabulary::EXIT_USAGE,
                absl::InvalidArgumentError(absl::StrCat(
                    "--profile: expected quick, required or soak, found \"",
                    wanted, "\"")));
  }
  if (absl::GetFlag(FLAGS_kills) == 0) {
    absl::SetFlag(&FLAGS_kills, profile->kills);
  }
  absl::StatusOr<CampaignOptions> options = CampaignFromFlags(rest);
  if (!options.ok()) return Fail(vocabulary::EXIT_USAGE, options.status());
  // Errors of files first: nobody wants to learn of them after an hour.
  VerifyOptions verify;
  absl::StatusOr<v1::Expectations> expectations = Expected();
  if (!expectations.ok()) {
    return Fail(vocabulary::EXIT_BAD_REQUEST, expectations.status());
  }
  verify.expectations = *std::move(expectations);
  absl::StatusOr<std::vector<Control>> controls =
      MakeControls(absl::GetFlag(FLAGS_perturb), absl::GetFlag(FLAGS_drop));
  if (!controls.ok()) return Fail(vocabulary::EXIT_USAGE, controls.status());
  options->controls = *std::move(controls);
  options->own_command =
      getenv("BUILD_WORKING_DIRECTORY") == nullptr
          ? std::vector<std::string>{program}
          : std::vector<std::string>{"bazel", "run", "//conformance", "--"};
  options->own_command.push_back("--out=OUT");
  options->own_command.push_back("--profile=" + wanted);
  if (!absl::GetFlag(FLAGS_perturb).empty()) {
    options->own_command.push_back("--perturb=" + absl::GetFlag(FLAGS_perturb));
  }
  for (const std::string& drop : absl::GetFlag(FLAGS_drop)) {
    options->own_command.push_back("--drop=" + drop);
  }

  verify.folder = verify.report_folder = options->out;
  verify.all_cases = absl::GetFlag(FLAGS_all);
  verify.started =
      absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::LocalTimeZone());
  absl::StatusOr<CampaignResult> result = RunCampaign(*options);
  if (!result.ok()) {
    return Fail(vocabulary::EXIT_BAD_REQUEST, result.status());
  }
  const int code = Conclude(verify);
  if (!result->record.stopped_early()) return code;
  printf("Stopped early: %s\n", result->record.reason().c_str());
  return vocabulary::EXIT_STOPPED_ON_REQUEST;
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") break;
    if (word == "--help" || word == "-h" || word == "-help" ||
        (i == 1 && word == "help")) {
      fputs(kHelp, stdout);
      return vocabulary::EXIT_DONE;
    }
  }
  if (argc == 1) {
    fputs(kHelp, stderr);
    return vocabulary::EXIT_USAGE;
  }
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1 && std::string(rest[1]) == "verify") {
    return VerifyFolder(rest);
  }
  return Certify(rest, argv[0]);
}

}  // namespace
}  // namespace reprise::conformance

int main(int argc, char** argv) {
  return reprise::conformance::Main(argc, argv);
}
