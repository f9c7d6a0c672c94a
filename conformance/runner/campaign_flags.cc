#include "conformance/runner/campaign_flags.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/runner/command_line.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

ABSL_FLAG(std::string, testee, "",
          "command of the testee, as a shell line; \"describe\" and \"run\" "
          "are added to it. Or give it after --");
ABSL_FLAG(std::string, out, "", "new folder for the records");
ABSL_FLAG(uint64_t, seed, 1, "what the kills are drawn from");
ABSL_FLAG(uint64_t, kills, 0,
          "planned interruptions at most; 0: 40, or the "
          "profile's");
ABSL_FLAG(double, minutes, 0, "stop after so many minutes; 0: when done");
ABSL_FLAG(std::string, workload, "",
          "workload of the testee; empty: its first");
ABSL_FLAG(uint64_t, run_seed, 1, "seed of the training run");
ABSL_FLAG(uint64_t, steps, 0, "attempted steps of a run; 0: the testee's own");
ABSL_FLAG(uint64_t, save_every, 0, "steps between saves; 0: the testee's own");
ABSL_FLAG(std::string, precision, "", "fp32, bf16 or fp16; empty: its own");
ABSL_FLAG(std::vector<std::string>, set, {},
          "NAME=VALUE settings of the workload, comma-separated");
ABSL_FLAG(std::vector<std::string>, only, {},
          "run only these cases (profile/case), with their baselines");
ABSL_FLAG(bool, probe, true, "ask the honesty probes first");
ABSL_FLAG(std::vector<std::string>, pass_env, {},
          "environment variables to pass on (NAME) or to set (NAME=VALUE)");
ABSL_FLAG(std::string, working_folder, "",
          "folder to run the testee in; empty: a fresh one each time");
ABSL_FLAG(std::string, keep, "bad",
          "run folders to keep in OUT/work: never, bad (cases that did not go "
          "as planned) or always");
ABSL_FLAG(absl::Duration, start_deadline, absl::Minutes(2),
          "from the start of the process to its StartEvent");
ABSL_FLAG(absl::Duration, silence_deadline, absl::Minutes(2),
          "from one event to the next");
ABSL_FLAG(absl::Duration, attempt_deadline, absl::Minutes(30),
          "of a whole attempt");
ABSL_FLAG(absl::Duration, grace, absl::Seconds(30),
          "from SIGTERM to the end of the process");
ABSL_FLAG(uint64_t, log_megabytes, 16,
          "a testee that writes more to its log is stopped");

namespace reprise::conformance {
namespace {

volatile sig_atomic_t g_stop = 0;

extern "C" void StopOnSignal(int) {
  // A second one ends the process at once; the guardian cleans up.
  if (g_stop != 0) _exit(::reprise::vocabulary::v1::EXIT_STOPPED_ON_REQUEST);
  g_stop = 1;
}

void CatchSignals() {
  struct sigaction action = {};
  action.sa_handler = StopOnSignal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(number, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);
}

absl::Status FillIn(CampaignOptions* options) {
  options->seed = absl::GetFlag(FLAGS_seed);
  if (absl::GetFlag(FLAGS_kills) > 0) {
    options->kills = absl::GetFlag(FLAGS_kills);
  }
  if (absl::GetFlag(FLAGS_minutes) > 0) {
    options->time = absl::Minutes(absl::GetFlag(FLAGS_minutes));
  }
  options->testee.pass = absl::GetFlag(FLAGS_pass_env);
  options->testee.working_folder = absl::GetFlag(FLAGS_working_folder);
  options->probe = absl::GetFlag(FLAGS_probe);
  options->only = absl::GetFlag(FLAGS_only);
  options->deadlines.start = absl::GetFlag(FLAGS_start_deadline);
  options->deadlines.silence = absl::GetFlag(FLAGS_silence_deadline);
  options->deadlines.whole = absl::GetFlag(FLAGS_attempt_deadline);
  options->deadlines.grace = absl::GetFlag(FLAGS_grace);
  options->limits.log_bytes = absl::GetFlag(FLAGS_log_megabytes) << 20;

  RunRequest& base = options->base;
  base.set_workload(absl::GetFlag(FLAGS_workload));
  base.set_seed(absl::GetFlag(FLAGS_run_seed));
  if (absl::GetFlag(FLAGS_steps) > 0) {
    base.set_steps(absl::GetFlag(FLAGS_steps));
  }
  if (absl::GetFlag(FLAGS_save_every) > 0) {
    base.set_save_every(absl::GetFlag(FLAGS_save_every));
  }
  base.set_precision(absl::GetFlag(FLAGS_precision));
  for (const std::string& text : absl::GetFlag(FLAGS_set)) {
    const std::vector<std::string> parts =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (parts.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set: expected NAME=VALUE, found \"", text, "\""));
    }
    auto* setting = base.add_settings();
    setting->set_name(parts[0]);
    setting->set_value(parts[1]);
  }
  const std::string keep = absl::GetFlag(FLAGS_keep);
  if (keep == "never") {
    options->keep = KeepRunFolders::kNever;
  } else if (keep == "always") {
    options->keep = KeepRunFolders::kAlways;
  } else if (keep != "bad") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--keep: expected never, bad or always, found \"", keep, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CampaignOptions> CampaignFromFlags(
    const std::vector<char*>& rest) {
  const std::string folder = PersonsFolder();
  CampaignOptions options;
  if (rest.size() > 1) {
    options.testee.command = ResolveAgainst(
        folder, std::vector<std::string>(rest.begin() + 1, rest.end()));
  } else {
    if (absl::GetFlag(FLAGS_testee).empty()) {
      return absl::InvalidArgumentError(
          "--testee is missing: the command of the trainer's adapter");
    }
    absl::StatusOr<Testee> testee =
        Testee::FromLine(absl::GetFlag(FLAGS_testee));
    if (!testee.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--testee: ", testee.status().message()));
    }
    options.testee = *std::move(testee);
  }
  absl::Status status = FillIn(&options);
  if (!status.ok()) return status;
  if (absl::GetFlag(FLAGS_out).empty()) {
    return absl::InvalidArgumentError(
        "--out is missing: a new folder for the records");
  }
  options.out = (std::filesystem::path(folder) / absl::GetFlag(FLAGS_out))
                    .lexically_normal()
                    .string();
  CatchSignals();
  options.stopped = [] { return g_stop != 0; };
  return options;
}

}  // namespace reprise::conformance
