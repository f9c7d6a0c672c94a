// Campaigns against the fake trainer and against bad testees, in process and as
// the real binary that is killed.
#include "conformance/runner/campaign.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "conformance/runner/lineage.h"
#include "conformance/runner/testing/script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Runfile(const std::string& path) {
  const char* base = getenv("TEST_SRCDIR");
  return absl::StrCat(base != nullptr ? base : ".", "/reprise/", path);
}

CampaignOptions Options(const std::string& line) {
  CampaignOptions options;
  options.testee = *Testee::FromLine(line);
  options.out = FreshFolder("campaign");
  options.progress = CampaignProgress::Surroundings::None();
  options.deadlines.start = absl::Seconds(20);
  options.deadlines.silence = absl::Seconds(20);
  options.deadlines.rest = absl::Milliseconds(200);
  return options;
}

CampaignOptions Fake() {
  CampaignOptions options = Options(Runfile("conformance/fake/fake"));
  options.base.set_steps(130);
  return options;
}

std::string Summary(const CampaignResult& result) {
  std::string text = absl::StrCat(
      "describe: ", OutcomeText(result.record.describe().outcome()), ": ",
      result.record.describe().detail(), "\n");
  for (const v1::CaseRecord& one : result.record.cases()) {
    absl::StrAppend(&text, one.profile(), "/", one.name(), ": ",
                    one.complete() ? "as planned" : one.reason(), "\n");
  }
  return text;
}

// A testee from a file of shell; the description and the events are its own.
CampaignOptions ScriptTestee(const std::string& body) {
  const std::string path = FreshFolder("testee") + "/testee.sh";
  WriteFile(path, absl::StrCat(R"sh(
if [ "$1" = describe ]; then
  describe() { printf '%s' "$1" > "${OUT#--out=}"; }
  OUT="$2"
else
  R="${2#--request=}"
  field() { sed -n "s/.*\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\}.*/\1/p" "$R"; }
  E=$(field events)
  F=$(field run_folder)
  event() { printf '%s\n' "$1" >> "$E"; }
fi
)sh",
                               body));
  CampaignOptions options = Options("/bin/sh " + path);
  options.deadlines.start = absl::Seconds(5);
  options.deadlines.silence = absl::Seconds(5);
  return options;
}

// A right trainer in shell: 12 steps, a save every 3, state in a file.
constexpr char kRight[] = R"sh(
if [ "$1" = describe ]; then
  describe '{"protocol":"1","name":"sh","features":["moves"]}'
  exit 0
fi
grep -q nobody-has-this "$R" && ! grep -q deep "$R" && exit 10
grep -q 999999 "$R" && exit 10
n=0
[ -f "$F/latest" ] || ! grep -q REQUIRED "$R" || exit 2
[ -f "$F/latest" ] && n=$(cat "$F/latest")
event "{\"start\":{\"run_id\":\"r\",\"resumed_step\":\"$n\"}}"
while [ $n -lt 12 ]; do
  n=$((n+1))
  sleep 0.02
  event "{\"step\":{\"step\":\"$n\",\"epoch\":\"$((n/6))\"}}"
  if [ $((n%3)) = 0 ]; then
    event "{\"save\":{\"phase\":\"BEGUN\",\"step\":\"$n\"}}"
    echo $n > "$F/tmp" && mv "$F/tmp" "$F/latest"
    event "{\"save\":{\"phase\":\"COMMITTED\",\"step\":\"$n\",\"checkpoint\":\"c$n\"}}"
  fi
done
event "{\"end\":{\"step\":\"$n\",\"finished\":true}}"
)sh";

TEST(Campaign, GoesAsPlannedWithTheFakeTrainerAndIsReadBack) {
  CampaignOptions options = Fake();
  options.kills = 25;
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->complete()) << Summary(*result);

  const auto files = ReadCampaign(options.out);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->description.name(), "fake");
  EXPECT_EQ(files->plan.kills(), 25);
  ASSERT_EQ(files->cases.size(), result->record.cases_size());
  std::vector<std::string> names;
  for (const CaseFiles& one : files->cases) {
    names.push_back(absl::StrCat(one.record.profile(), "/", one.record.name()));
    ASSERT_EQ(one.attempts.size(), one.plan.attempts_size()) << names.back();
    for (size_t i = 0; i < one.attempts.size(); ++i) {
      const AttemptFiles& attempt = one.attempts[i];
      EXPECT_EQ(attempt.log.events.size(), attempt.record.events());
      EXPECT_THAT(attempt.log.bad_lines, IsEmpty());
      EXPECT_TRUE(IsGood(attempt.record.outcome())) << names.back();
      EXPECT_THAT(attempt.record.outside_files(), IsEmpty());
      if (i > 0) {
        EXPECT_NE(attempt.request.run_folder(),
                  one.attempts[i - 1].request.run_folder())
            << "the run folder moves";
      }
    }
  }
  EXPECT_THAT(names, Contains("default/baseline-1"));
  EXPECT_THAT(names, Contains("default/inside_first_epoch_again"));
  EXPECT_THAT(names, Contains("default/second_resume"));
  EXPECT_FALSE(std::filesystem::exists(WorkFolder(options.out)))
      << "run folders of good cases are not kept";
}

TEST(Campaign, ARepetitionResumesTheSameCheckpoint) {
  CampaignOptions options = Fake();
  options.only = {"default/inside_first_epoch_again"};
  options.keep = KeepRunFolders::kNever;
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->complete()) << Summary(*result);
  const std::string original =
      CaseFolder(options.out, "default", "inside_first_epoch");
  const auto one = ReadCase(original);
  const auto two = ReadCase(original + "_again");
  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_EQ(one->attempts.size(), 2);
  ASSERT_EQ(two->attempts.size(), 2);
  EXPECT_EQ(one->attempts[0].record.SerializeAsString(),
            two->attempts[0].record.SerializeAsString());
  EXPECT_EQ(two->plan.repeats(), "inside_first_epoch");
  ASSERT_TRUE(one->attempts[1].log.events[0].has_start());
  ASSERT_TRUE(two->attempts[1].log.events[0].has_start());
  EXPECT_GT(one->attempts[1].log.events[0].start().resumed_step(), 0);
  EXPECT_EQ(one->attempts[1].log.events[0].start().checkpoint(),
            two->attempts[1].log.events[0].start().checkpoint());
}

TEST(Campaign, AControlEditsItsOwnCopy) {
  CampaignOptions options = ScriptTestee(kRight);
  options.only = {"default/control-older"};
  std::string edited;
  options.controls.push_back({"older", [&edited](const std::string& folder) {
                                edited = ReadFile(folder + "/latest");
                                WriteFile(folder + "/latest", "1\n");
                                return absl::OkStatus();
                              }});
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->complete()) << Summary(*result);
  const auto control =
      ReadCase(CaseFolder(options.out, "default", "control-older"));
  const auto original =
      ReadCase(CaseFolder(options.out, "default", "inside_first_epoch"));
  ASSERT_TRUE(control.ok() && original.ok());
  EXPECT_EQ(control->plan.control(), "older");
  EXPECT_EQ(edited, "3\n");
  EXPECT_EQ(control->attempts[1].log.events[0].start().resumed_step(), 1);
  EXPECT_EQ(original->attempts[1].log.events[0].start().resumed_step(), 3);
}

TEST(Campaign, RunsARightTrainerWrittenInShell) {
  CampaignOptions options = ScriptTestee(kRight);
  options.kills = 12;
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->complete()) << Summary(*result);
  EXPECT_THAT(result->plan.replay(), HasSubstr("--seed=1 --kills=12"));
}

// A trainer may print what it likes, also lines that look like events, bytes
// that are no text and a last line that never ends.
TEST(Campaign, NoiseOnStdoutAndStderrChangesNothing) {
  const std::string noise = R"sh(
noise() {
  printf '{"step":{"step":"999"}}\n{"end":{"step":"999","finished":true}}\n'
  printf '\377\376\000\033[2J half a line {"save":'
}
[ "$1" = describe ] || { noise; noise >&2; }
)sh";
  CampaignOptions quiet = ScriptTestee(kRight);
  CampaignOptions noisy = ScriptTestee(
      noise +
      absl::StrReplaceAll(
          kRight, {{"  sleep 0.02\n", "  sleep 0.02; noise; noise >&2\n"}}));
  for (CampaignOptions* options : {&quiet, &noisy}) {
    options->kills = 4;
    const auto result = RunCampaign(*options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->complete()) << Summary(*result);
    for (const v1::ProbeRecord& probe : result->record.probes()) {
      EXPECT_TRUE(probe.passed()) << probe.name() << ": " << probe.detail();
    }
  }
  const auto a = ReadCampaign(quiet.out);
  const auto b = ReadCampaign(noisy.out);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  ASSERT_EQ(a->cases.size(), b->cases.size());
  int compared = 0;
  for (size_t i = 0; i < a->cases.size(); ++i) {
    const auto& left = a->cases[i].attempts;
    const auto& right = b->cases[i].attempts;
    // Runs that nobody kills leave the same events to the byte.
    if (left.size() != 1) continue;
    ASSERT_EQ(right.size(), 1);
    ASSERT_EQ(left[0].log.events.size(), right[0].log.events.size());
    for (size_t k = 0; k < left[0].log.events.size(); ++k) {
      EXPECT_EQ(left[0].log.events[k].SerializeAsString(),
                right[0].log.events[k].SerializeAsString());
    }
    const std::string folder = CaseFolder(noisy.out, b->cases[i].plan.profile(),
                                          b->cases[i].plan.name());
    EXPECT_THAT(ReadFile(PathsOfAttempt(folder, 1).out),
                HasSubstr("half a line"));
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

// One case of a run of 12 steps, killed after `step`: `phase` of a step that is
// said to take `step_seconds`.
CaseResult RunLateCase(const CampaignOptions& options, uint64_t step,
                       double phase, double step_seconds) {
  CaseSettings settings;
  settings.testee = options.testee;
  settings.dir = options.out;
  settings.description.add_features("moves");
  settings.deadlines = options.deadlines;
  v1::CasePlan plan;
  plan.set_name("late");
  plan.set_profile("default");
  v1::Kill* kill = plan.add_attempts()->mutable_kill();
  kill->set_where(v1::Kill::AFTER_STEP);
  kill->set_signal(v1::Kill::KILL);
  kill->set_step(step);
  kill->set_phase(phase);
  plan.add_attempts();
  v1::Geometry geometry;
  geometry.set_steps(12);
  geometry.set_step_seconds(step_seconds);
  return CaseRunner(settings).Run(plan, geometry);
}

TEST(Campaign, BeginsACaseAgainWhenItsKillCameTooLate) {
  // The first resumed run is over at once, the second one is not.
  const std::string marker = FreshFolder("marker") + "/been-here";
  CampaignOptions options = ScriptTestee(absl::StrReplaceAll(
      kRight, {{"  sleep 0.02\n",
                absl::StrCat("  [ -f ", marker, " ] && sleep 0.2\n",
                             "  [ $n = 12 ] && touch ", marker, "\n")}}));
  // Much longer than eight steps that do not sleep, much shorter than eight
  // that do.
  const CaseResult result = RunLateCase(options, 4, 0.9, /*step_seconds=*/0.5);
  EXPECT_TRUE(result.record.complete()) << result.record.reason();
  EXPECT_GT(result.record.tries(), 1);
  EXPECT_LE(result.record.tries(), 4);
}

TEST(Campaign, BeginsACaseAgainWhenNoStepWasLeftToResume) {
  // The last step is long over, the end is not.
  CampaignOptions options = ScriptTestee(absl::StrReplaceAll(
      kRight, {{"while [", "s=$n\nwhile ["},
               {"done\nevent", "done\n[ $s = 0 ] && sleep 10\nevent"}}));
  const CaseResult result = RunLateCase(options, 12, 1, /*step_seconds=*/2);
  EXPECT_TRUE(result.record.complete()) << result.record.reason();
  EXPECT_EQ(result.record.tries(), 4);
}

TEST(Campaign, AsksTheHonestyProbes) {
  CampaignOptions options = ScriptTestee(kRight);
  options.kills = 0;
  const auto right = RunCampaign(options);
  ASSERT_TRUE(right.ok());
  ASSERT_EQ(right->record.probes_size(), 6);
  for (const v1::ProbeRecord& probe : right->record.probes()) {
    EXPECT_TRUE(probe.passed()) << probe.name() << ": " << probe.detail();
  }
  // Each probe fails a testee that answers it wrongly, and only that one.
  for (const auto& [name, from, to] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"other_protocol", "grep -q 999999 \"$R\" && exit 10", ""},
           {"required_on_empty", "|| exit 2", ""},
           {"unknown_feature", "&& ! grep -q deep \"$R\" &&",
            "&& ! grep -q deep \"$R\" && touch \"$F/x\" &&"},
           {"unknown_field", "&& ! grep -q deep \"$R\"", ""},
           {"finished_again", "[ -f \"$F/latest\" ] && n=$(cat \"$F/latest\")",
            ""}}) {
    options = ScriptTestee(absl::StrReplaceAll(kRight, {{from, to}}));
    options.kills = 0;
    options.only = {"default/none"};
    const auto result = RunCampaign(options);
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->complete());
    bool failed = false;
    for (const v1::ProbeRecord& probe : result->record.probes()) {
      if (probe.name() == name) failed = !probe.passed();
    }
    EXPECT_TRUE(failed) << name;
  }
}

TEST(Campaign, SaysWhenAChosenCaseDoesNotExist) {
  CampaignOptions options = ScriptTestee(kRight);
  options.only = {"default/no_such"};
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->complete());
  EXPECT_THAT(Summary(*result),
              HasSubstr("default/no_such: there is no such case"));
}

TEST(Campaign, RunsAChosenCaseThatTheBudgetWouldLeaveOut) {
  CampaignOptions options = ScriptTestee(kRight);
  options.kills = 0;
  options.only = {"default/random-002"};
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->complete()) << Summary(*result);
}

TEST(Campaign, StopsWhenItsTimeIsOverAndListsWhatWasNotRun) {
  CampaignOptions options = ScriptTestee(kRight);
  options.time = absl::Seconds(2);
  options.kills = 1000;
  const absl::Time began = absl::Now();
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(absl::Now() - began, absl::Seconds(20));
  EXPECT_TRUE(result->record.stopped_early());
  EXPECT_FALSE(result->complete());
  EXPECT_EQ(result->record.reason(), "the time was over");
}

TEST(Campaign, RefusesAFolderThatIsNotEmpty) {
  CampaignOptions options = ScriptTestee(kRight);
  WriteFile(options.out + "/mine", "x");
  EXPECT_EQ(RunCampaign(options).status().code(),
            absl::StatusCode::kFailedPrecondition);
  options.out = "relative";
  EXPECT_EQ(RunCampaign(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// --- Bad testees: whatever they do, the campaign ends and is not complete.

TEST(BadCampaign, NamesATesteeThatCannotDescribeItself) {
  for (const auto& [body, outcome] :
       std::vector<std::pair<std::string, std::string>>{
           {"exit 3", "UNKNOWN_EXIT_CODE"},
           {"exit 0", "PROTOCOL_VIOLATION"},
           {"describe 'no json'", "PROTOCOL_VIOLATION"},
           {"describe '{\"protocol\":\"2\"}'", "PROTOCOL_VIOLATION"},
           {"kill -9 $$", "FOREIGN_SIGNAL"},
           {"sleep 1000", "HUNG_AT_START"}}) {
    CampaignOptions options = ScriptTestee(body);
    options.deadlines.start = absl::Milliseconds(500);
    const auto result = RunCampaign(options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(OutcomeText(result->record.describe().outcome()), outcome)
        << body << ": " << result->record.describe().detail();
    EXPECT_FALSE(result->complete());
    EXPECT_EQ(result->record.cases_size(), 0);
    EXPECT_TRUE(ReadCampaign(options.out).ok());
  }
  const auto missing = RunCampaign(Options("/nowhere/trainer"));
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->record.describe().outcome(), v1::OUTCOME_NOT_STARTED);
}

std::string WithBody(const std::string& body) {
  return absl::StrCat(R"sh(
if [ "$1" = describe ]; then
  describe '{"protocol":"1","name":"sh","features":["moves","accumulation"]}'
  exit 0
fi
)sh",
                      body);
}

TEST(BadCampaign, GoesNoFurtherThanABaselineThatFails) {
  const auto result = RunCampaign(ScriptTestee(WithBody("exit 12")));
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->complete());
  EXPECT_THAT(Summary(*result),
              HasSubstr("default/baseline-1: attempt 1: TRAINING_FAILED"));
  EXPECT_THAT(Summary(*result), HasSubstr("the first baseline did not finish"));
  EXPECT_EQ(result->record.cases_size(), 3);
}

TEST(BadCampaign, NamesAFeatureThatIsClaimedAndNotThere) {
  CampaignOptions options = ScriptTestee(absl::StrReplaceAll(
      kRight, {{"\"moves\"", "\"moves\",\"accumulation\""},
               {"n=0\n", "n=0\ngrep -q accumulation \"$R\" && exit 10\n"}}));
  options.kills = 2;
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->complete());
  EXPECT_THAT(Summary(*result),
              HasSubstr("accumulation/baseline-1: attempt 1: FALSE_CLAIM"));
  EXPECT_THAT(Summary(*result), HasSubstr("default/baseline-1: as planned"));
}

TEST(BadCampaign, NamesATesteeThatWritesToWhereItsFolderWas) {
  // It remembers the place of its first attempt and goes on saving there.
  CampaignOptions options = ScriptTestee(absl::StrReplaceAll(
      kRight, {{"n=0\n",
                "n=0\n[ -f \"$F/place\" ] || echo \"$F\" > \"$F/place\"\n"
                "P=$(cat \"$F/place\"); mkdir -p \"$P\"\n"},
               {"> \"$F/tmp\" && mv \"$F/tmp\" \"$F/latest\"",
                "> \"$P/tmp\" && mv \"$P/tmp\" \"$P/latest\""}}));
  options.kills = 1;
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->complete());
  EXPECT_THAT(Summary(*result), HasSubstr("WROTE_OUTSIDE"));
  EXPECT_THAT(Summary(*result), HasSubstr("made place-1/run"));
}

TEST(BadCampaign, NamesATesteeThatTouchesTheCanaryOrTheRecords) {
  for (const char* deed :
       {"echo x >> \"$F/../../canary/file\"", "rm \"$F/../../canary/file\"",
        "touch \"$F/../other\"", "echo '{}' > \"${E%/*}/exit\"",
        "mkdir \"${E%/*}/../attempt-9\""}) {
    CampaignOptions options = ScriptTestee(absl::StrReplaceAll(
        kRight, {{"n=0\n", absl::StrCat("n=0\n", deed, "\n")}}));
    options.kills = 1;
    const auto result = RunCampaign(options);
    ASSERT_TRUE(result.ok());
    EXPECT_THAT(Summary(*result), HasSubstr("WROTE_OUTSIDE")) << deed;
    EXPECT_FALSE(result->complete());
  }
}

TEST(BadCampaign, ReportsStrayFilesWithoutBlame) {
  CampaignOptions options = ScriptTestee(absl::StrReplaceAll(
      kRight, {{"n=0\n", "n=0\ntouch here \"$HOME/a\" \"$TMPDIR/b\"\n"}}));
  options.kills = 1;
  options.only = {"default/inside_first_epoch"};
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->complete()) << Summary(*result);
  const auto one =
      ReadCase(CaseFolder(options.out, "default", "inside_first_epoch"));
  ASSERT_TRUE(one.ok());
  EXPECT_THAT(
      one->attempts[1].record.stray_files(),
      testing::ElementsAre("made cwd/here", "made home/a", "made tmp/b"));
}

TEST(BadCampaign, DoesNotCallARunThatEndsEarlyComplete) {
  // A resumed run stops at step 8 with exit code 0.
  CampaignOptions options = ScriptTestee(absl::StrReplaceAll(
      kRight, {{"while [ $n -lt 12 ]",
                "N=12; [ $n -gt 0 ] && N=8\nwhile [ $n -lt $N ]"},
               {"\"finished\\\":true",
                "\"finished\\\":'$([ $n = 12 ] && echo true || "
                "echo false)'"}}));
  options.kills = 1;
  options.only = {"default/inside_first_epoch"};
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->complete()) << Summary(*result);
}

// --- The binary, killed for real.

// Starts the binary on a testee that never ends and litters processes.
pid_t StartBinary(const std::string& mark, const std::string& ready) {
  const std::string script = FreshFolder("endless") + "/testee.sh";
  WriteFile(script, absl::StrCat(R"sh(
if [ "$1" = describe ]; then
  printf '{"protocol":"1","name":"endless"}' > "${2#--out=}"
  exit 0
fi
trap '' TERM INT HUP
E=$(sed -n 's/.*"events": "\([^"]*\)".*/\1/p' "${2#--request=}")
echo '{"start":{"run_id":"r"}}' >> "$E"
setsid sh -c 'setsid sleep 1000 & sleep 1000' &
sleep 1000 &
touch )sh",
                                 ready, R"sh(
n=0
while :; do
  n=$((n+1)); echo "{\"step\":{\"step\":\"$n\"}}" >> "$E"; sleep 0.05
done
)sh"));
  const std::string binary = Runfile("conformance/runner/campaign");
  const std::string out = "--out=" + FreshFolder("killed");
  const std::string testee = "--testee=/bin/sh " + script;
  const std::string pass = "--pass_env=" + mark;
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    execl(binary.c_str(), binary.c_str(), out.c_str(), testee.c_str(),
          pass.c_str(), nullptr);
    _exit(127);
  }
  return pid;
}

int WaitFor(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

void WaitForFile(const std::string& path) {
  for (int i = 0; i < 2000 && access(path.c_str(), F_OK) != 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  ASSERT_EQ(access(path.c_str(), F_OK), 0);
}

class KilledCampaign : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, KilledCampaign,
                         testing::Values(SIGKILL, SIGINT, SIGTERM, SIGHUP,
                                         SIGUSR1));

TEST_P(KilledCampaign, LeavesNoProcess) {
  const std::string mark = absl::StrCat("REPRISE_TEST_KILLED=", GetParam());
  const std::string ready = FreshFolder("ready") + "/ready";
  const pid_t binary = StartBinary(mark, ready);
  WaitForFile(ready);
  EXPECT_TRUE(AnyProcessMarked(mark));
  kill(binary, GetParam());
  const int status = WaitFor(binary);
  EXPECT_TRUE(NoneMarkedSoon(mark));
  if (GetParam() == SIGKILL || GetParam() == SIGUSR1) {
    EXPECT_TRUE(WIFSIGNALED(status));
  } else {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 13) << status;
  }
}

TEST(KilledCampaignGroup, LeavesNoProcessWhenItsWholeGroupIsKilled) {
  const std::string mark = "REPRISE_TEST_KILLED=group";
  const std::string ready = FreshFolder("ready") + "/ready";
  const pid_t binary = StartBinary(mark, ready);
  WaitForFile(ready);
  kill(-binary, SIGKILL);
  WaitFor(binary);
  EXPECT_TRUE(NoneMarkedSoon(mark));
}

}  // namespace
}  // namespace reprise::conformance
