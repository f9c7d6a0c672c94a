#include "conformance/runner/attempt.h"

#include <signal.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/runner/testing/script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::HasSubstr;
using v1::Kill;
using v1::Outcome;

std::string Text(const AttemptResult& result) {
  return absl::StrCat(OutcomeText(result.record.outcome()), ": ",
                      result.record.detail());
}

AttemptResult RunScript(const std::string& script) {
  return RunAttempt(ScriptOptions(script));
}

// --- Good ends.

TEST(Attempt, NamesARunThatDidAllStepsFinished) {
  const AttemptResult result =
      RunScript("start; step 1; step 2; step 3; finish");
  EXPECT_EQ(Text(result), "FINISHED: finished");
  EXPECT_EQ(result.events.size(), 5);
  EXPECT_EQ(result.record.events(), 5);
  EXPECT_EQ(result.record.exit_code(), 0);
  EXPECT_FALSE(result.record.has_signal());
  EXPECT_EQ(result.record.sent_size(), 0);
}

TEST(Attempt, KeepsLogsApartAndGivesNoInput) {
  AttemptOptions options =
      ScriptOptions("start; echo to-out; echo to-err >&2; cat; finish");
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "FINISHED: finished");
  EXPECT_EQ(ReadFile(options.stdout_path), "to-out\n");
  EXPECT_EQ(ReadFile(options.stderr_path), "to-err\n");
}

TEST(Attempt, KillsTheWholeTreeAtTheEventThatThePlanNames) {
  AttemptOptions options = ScriptOptions(
      "start; sleep 1000 & n=1; while :; do step $n; n=$((n+1)); sleep 0.05; "
      "done");
  options.environment.push_back("REPRISE_TEST_MARK=whole-tree");
  options.kill.set_where(Kill::AFTER_STEP);
  options.kill.set_signal(Kill::KILL);
  options.kill.set_step(3);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "INTERRUPTED: killed as planned");
  EXPECT_TRUE(result.record.kill_landed());
  EXPECT_EQ(result.record.landed_in(), "in_step");
  EXPECT_EQ(result.record.signal(), SIGKILL);
  ASSERT_EQ(result.record.sent_size(), 1);
  EXPECT_EQ(result.record.sent(0).number(), SIGKILL);
  EXPECT_EQ(result.events.back().step().step(), 3);
  EXPECT_FALSE(AnyProcessMarked("REPRISE_TEST_MARK=whole-tree"));
}

TEST(Attempt, KillsInsideASave) {
  AttemptOptions options =
      ScriptOptions("start; step 1; begun 1; sleep 1000; committed 1");
  options.kill.set_where(Kill::IN_SAVE);
  options.kill.set_signal(Kill::KILL);
  options.kill.set_step(1);
  options.kill.set_phase(0.5);
  options.means.set_save_seconds(0.1);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "INTERRUPTED: killed as planned");
  EXPECT_EQ(result.record.landed_in(), "in_save");
  EXPECT_EQ(result.record.kill().delay_us(), 50000);
}

TEST(Attempt, KillsInsideALoad) {
  AttemptOptions options = ScriptOptions("sleep 1000; start");
  options.kill.set_where(Kill::IN_LOAD);
  options.kill.set_signal(Kill::KILL);
  options.kill.set_phase(0.5);
  options.means.set_start_seconds(0.2);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "INTERRUPTED: killed as planned");
  EXPECT_EQ(result.record.landed_in(), "in_load");
}

TEST(Attempt, KillsWhereItHolds) {
  AttemptOptions options = ScriptOptions(
      "start; step 1; begun 1; "
      "event '{\"held\":{\"step\":1,\"point\":\"S3\"}}'; sleep 1000");
  options.kill.set_where(Kill::AT_HOLD);
  options.kill.set_signal(Kill::KILL);
  options.kill.mutable_hold()->set_step(1);
  options.kill.mutable_hold()->set_point(v1::S3);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "INTERRUPTED: killed as planned");
  EXPECT_EQ(result.record.landed_in(), "held:S3");
}

TEST(Attempt, StopsOnSigtermWithCode13) {
  AttemptOptions options = ScriptOptions(
      "trap 'committed 2; exit 13' TERM; start; step 1; step 2; "
      "while :; do sleep 0.02; done");
  options.kill.set_where(Kill::AFTER_STEP);
  options.kill.set_signal(Kill::TERM);
  options.kill.set_step(2);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "STOPPED: stopped on SIGTERM");
  EXPECT_TRUE(result.record.kill_landed());
  EXPECT_EQ(result.record.newest_commit(), "c2");
}

TEST(Attempt, ToleratesALineThatItsOwnKillCut) {
  AttemptOptions options =
      ScriptOptions("start; printf '{\"step\":' >> \"$E\"; sleep 1000");
  options.kill.set_where(Kill::AFTER_EVENT);
  options.kill.set_signal(Kill::KILL);
  options.kill.set_event(1);
  options.kill.set_phase(1);
  options.means.set_step_seconds(0.3);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "INTERRUPTED: killed as planned");
  EXPECT_EQ(result.record.torn_bytes(), 8);
  EXPECT_EQ(result.events.size(), 1);
}

TEST(Attempt, SaysWhenTheKillCameTooLate) {
  AttemptOptions options = ScriptOptions("start; step 1; finish");
  options.kill.set_where(Kill::AFTER_STEP);
  options.kill.set_signal(Kill::KILL);
  options.kill.set_step(100);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "FINISHED: finished");
  EXPECT_FALSE(result.record.kill_landed());
}

// --- Bad ends. None may ever be called good.

struct Bad {
  const char* name;
  const char* script;
  const char* outcome;
  const char* detail;
};

std::ostream& operator<<(std::ostream& out, const Bad& bad) {
  return out << bad.name;
}

class BadTestee : public testing::TestWithParam<Bad> {};

TEST_P(BadTestee, IsNamed) {
  AttemptOptions options = ScriptOptions(GetParam().script);
  options.deadlines.start = absl::Milliseconds(700);
  options.deadlines.silence = absl::Milliseconds(700);
  options.deadlines.whole = absl::Seconds(3);
  options.limits.log_bytes = 100000;
  options.limits.events.max_file_bytes = 200000;
  options.limits.events.max_line_bytes = 50000;
  options.environment.push_back(
      absl::StrCat("REPRISE_TEST_MARK=", GetParam().name));
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(OutcomeText(result.record.outcome()), GetParam().outcome)
      << Text(result) << "\n"
      << ReadFile(options.stderr_path);
  EXPECT_THAT(result.record.detail(), HasSubstr(GetParam().detail));
  EXPECT_FALSE(IsGood(result.record.outcome()));
  EXPECT_FALSE(
      AnyProcessMarked(absl::StrCat("REPRISE_TEST_MARK=", GetParam().name)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTestee,
    testing::Values(
        Bad{"HangsBeforeItsStart", "sleep 1000", "HUNG_AT_START",
            "no StartEvent within 700ms"},
        Bad{"HangsInTheMiddle", "start; step 1; sleep 1000", "SILENT",
            "no event for 700ms"},
        Bad{"HangsInsideALine", "start; printf '{\"st' >> \"$E\"; sleep 1000",
            "SILENT", "ends inside a line of 4 bytes"},
        Bad{"HangsAfterItsEnd", "start; finish; sleep 1000", "SILENT",
            "still running, 700ms after its EndEvent"},
        Bad{"GoesOnForEver", "start; while :; do step 1; sleep 0.1; done",
            "TOO_LONG", "still running after 3s"},
        Bad{"HangsDeafToSigterm", "trap '' TERM INT HUP; start; sleep 1000",
            "SILENT", ""},
        Bad{"FloodsItsLog", "start; yes", "FLOODED_LOG", "the limit is 100000"},
        Bad{"FloodsItsErrors", "start; yes >&2", "FLOODED_LOG", ""},
        Bad{"FloodsItsEvents",
            "start; while :; do step 1; step 2; step 3; done", "FLOODED_EVENTS",
            "the limit of 200000"},
        Bad{"WritesALineWithoutEnd",
            "start; head -c 100000 /dev/zero | tr '\\0' ' ' >> \"$E\"; "
            "sleep 1000",
            "FLOODED_EVENTS", "line 2 of the events file is longer"},
        Bad{"WritesGarbage", "start; event 'loss 0.5'; sleep 1000",
            "GARBAGE_EVENTS", "line 2 of the events file"},
        Bad{"WritesBytesThatAreNoText",
            "start; printf '\\377\\000\\n' >> \"$E\"; finish", "GARBAGE_EVENTS",
            "\\xff\\x00"},
        Bad{"WritesPythonsNaN", "start; event '{\"step\":{\"loss\":NaN}}'",
            "GARBAGE_EVENTS", ""},
        Bad{"WritesHalfALastLine",
            "start; step 1; finish; printf '{\"note\"' >> \"$E\"", "TORN_EVENT",
            "{\\\"note\\\""},
        Bad{"TruncatesItsEvents",
            "start; step 1; sleep 0.2; : > \"$E\"; sleep 0.2; start; finish",
            "PROTOCOL_VIOLATION", "shrank"},
        Bad{"ReplacesItsEvents",
            "start; sleep 0.2; rm \"$E\"; start; sleep 0.2; finish",
            "PROTOCOL_VIOLATION", "removed or replaced"},
        Bad{"StepsBeforeItsStart", "step 1; start; finish",
            "PROTOCOL_VIOLATION", "the first event is not a StartEvent"},
        Bad{"StartsTwice", "start; step 1; start; finish", "PROTOCOL_VIOLATION",
            "second StartEvent"},
        Bad{"GoesOnAfterItsEnd", "start; finish; step 4", "PROTOCOL_VIOLATION",
            "after the EndEvent"},
        Bad{"HoldsUnasked",
            "start; event '{\"held\":{\"step\":1,\"point\":\"P0\"}}'; sleep 9",
            "PROTOCOL_VIOLATION", "no hold was asked for"},
        Bad{"DiesAtOnce", "exit 7", "DIED_AT_START",
            "exit code 7 before its StartEvent"},
        Bad{"EndsAtOnceAsIfAllWereWell", "exit 0", "DIED_AT_START",
            "exit code 0 before"},
        Bad{"CrashesAtOnce", "exit 1", "DIED_AT_START", "exit code 1"},
        Bad{"EndsWithoutFinishing", "start; step 1", "SHORT",
            "no EndEvent says"},
        Bad{"SaysThatItDidNotFinish",
            "start; step 1; event '{\"end\":{\"step\":1}}'", "SHORT", ""},
        Bad{"UsesAnUnknownCode", "start; finish; exit 99", "UNKNOWN_EXIT_CODE",
            "exit code 99"},
        Bad{"UsesACodeLikeASignal", "start; finish; exit 137",
            "UNKNOWN_EXIT_CODE", "exit code 137"},
        Bad{"ExitsWith1", "start; finish; exit 1", "USAGE", "exit code 1"},
        Bad{"ExitsWith2", "exit 2", "BAD_REQUEST", ""},
        Bad{"ExitsWith10", "exit 10", "UNSUPPORTED", ""},
        Bad{"ExitsWith11", "start; exit 11", "CHECKPOINT_REJECTED", ""},
        Bad{"ExitsWith12", "start; finish; exit 12", "TRAINING_FAILED", ""},
        Bad{"ExitsWith13", "start; finish; exit 13", "STOPPED_UNASKED",
            "nobody asked"},
        Bad{"ExitsWith14", "start; finish; exit 14", "SAVE_FAILED", ""},
        Bad{"KillsItself", "start; step 1; kill -9 $$", "FOREIGN_SIGNAL",
            "signal 9 (Killed), which the harness did not send"},
        Bad{"Crashes", "start; step 1; kill -SEGV $$", "FOREIGN_SIGNAL",
            "signal 11"},
        Bad{"TermsItself", "start; step 1; kill -TERM $$; sleep 1",
            "FOREIGN_SIGNAL", "signal 15"},
        Bad{"LeavesAGrandchild", "start; finish; sleep 1000 &",
            "LEFT_PROCESSES", "sleep"},
        Bad{"LeavesADaemon", "start; finish; setsid sh -c 'sleep 1000' &",
            "LEFT_PROCESSES", "sleep"},
        Bad{"StopsItself", "start; step 1; kill -STOP $$", "SILENT", ""},
        Bad{"KillsItsGuardian",
            "start; setsid sleep 1000 & kill -9 $PPID; "
            "sleep 1000",
            "HARNESS_ERROR", "guardian"},
        Bad{"StopsItsGuardian", "start; kill -STOP $PPID; finish; sleep 1000",
            "SILENT", ""}),
    [](const testing::TestParamInfo<Bad>& info) {
      return std::string(info.param.name);
    });

TEST(Attempt, NamesAMissingProgram) {
  AttemptOptions options = ScriptOptions("");
  options.command = {"/nowhere/trainer", "run"};
  EXPECT_EQ(Text(RunAttempt(options)),
            "NOT_STARTED: cannot execute it: No such file or directory");
  options.command = {"no-such-trainer-in-path"};
  EXPECT_EQ(Text(RunAttempt(options)),
            "NOT_STARTED: cannot execute it: No such file or directory");
}

TEST(Attempt, NamesAProgramThatIsNotExecutable) {
  AttemptOptions options = ScriptOptions("");
  const std::string path = options.working_folder + "/trainer";
  WriteFile(path, "#!/bin/sh\n");
  options.command = {path};
  EXPECT_EQ(Text(RunAttempt(options)),
            "NOT_STARTED: cannot execute it: Permission denied");
  chmod(path.c_str(), 0755);
  WriteFile(path, "no program\n");
  EXPECT_EQ(Text(RunAttempt(options)),
            "NOT_STARTED: cannot execute it: Exec format error");
}

TEST(Attempt, CallsCode10AFalseClaimWhenEveryFeatureIsClaimed) {
  AttemptOptions options = ScriptOptions("exit 10");
  options.all_features_claimed = true;
  const AttemptResult result = RunAttempt(options);
  EXPECT_THAT(Text(result), HasSubstr("FALSE_CLAIM: exit code 10"));
}

TEST(Attempt, CallsAHoldPointThatDoesNotHoldAFalseClaim) {
  AttemptOptions options =
      ScriptOptions("start; step 1; step 2; step 3; sleep 1000");
  options.kill.set_where(Kill::AT_HOLD);
  options.kill.mutable_hold()->set_step(2);
  options.kill.mutable_hold()->set_point(v1::P2);
  const AttemptResult result = RunAttempt(options);
  EXPECT_THAT(Text(result), HasSubstr("FALSE_CLAIM: it was to be held at P2 of "
                                      "step 2"));
}

TEST(Attempt, CallsAHoldAtAnotherPlaceAViolation) {
  AttemptOptions options = ScriptOptions(
      "start; event '{\"held\":{\"step\":1,\"point\":\"P1\"}}'; sleep 1000");
  options.kill.set_where(Kill::AT_HOLD);
  options.kill.mutable_hold()->set_step(2);
  options.kill.mutable_hold()->set_point(v1::P1);
  EXPECT_THAT(Text(RunAttempt(options)),
              HasSubstr("held at P1 of step 1; asked for was P1 of step 2"));
}

TEST(Attempt, NamesATesteeThatIgnoresSigterm) {
  AttemptOptions options =
      ScriptOptions("trap '' TERM; start; step 1; sleep 1000");
  options.kill.set_where(Kill::AFTER_STEP);
  options.kill.set_signal(Kill::TERM);
  options.kill.set_step(1);
  options.deadlines.grace = absl::Milliseconds(300);
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(Text(result), "IGNORED_SIGTERM: still running 300ms after SIGTERM");
  ASSERT_EQ(result.record.sent_size(), 2);
  EXPECT_EQ(result.record.sent(0).number(), SIGTERM);
  EXPECT_EQ(result.record.sent(1).number(), SIGKILL);
}

TEST(Attempt, CutsALogThatFloods) {
  AttemptOptions options = ScriptOptions("start; yes");
  options.limits.log_bytes = 5000;
  const AttemptResult result = RunAttempt(options);
  EXPECT_TRUE(result.record.log_cut());
  EXPECT_EQ(ReadFile(options.stdout_path).size(), 5000);
}

TEST(Attempt, EndsATreeThatForksFasterThanAnybodyLooks) {
  AttemptOptions options = ScriptOptions(
      "start; f() { sleep 0.01; setsid sh -c 'sleep 1000' & f; }; f & f & "
      "while :; do setsid sleep 1000 & sleep 0.005; done");
  options.environment.push_back("REPRISE_TEST_MARK=bomb");
  options.kill.set_where(Kill::AFTER_EVENT);
  options.kill.set_signal(Kill::KILL);
  options.kill.set_event(1);
  options.kill.set_phase(1);
  options.means.set_step_seconds(0.5);
  EXPECT_EQ(Text(RunAttempt(options)), "INTERRUPTED: killed as planned");
  EXPECT_FALSE(AnyProcessMarked("REPRISE_TEST_MARK=bomb"));
}

TEST(Attempt, EndsWhenItIsCancelled) {
  AttemptOptions options = ScriptOptions("start; sleep 1000");
  const absl::Time end = absl::Now() + absl::Milliseconds(200);
  options.cancelled = [end] { return absl::Now() > end; };
  const AttemptResult result = RunAttempt(options);
  EXPECT_THAT(Text(result), HasSubstr("CANCELLED"));
  EXPECT_FALSE(IsGood(result.record.outcome()));
}

TEST(Attempt, ExpectsNoEventsOfADescription) {
  AttemptOptions options = ScriptOptions("exit 0");
  options.events_path.clear();
  EXPECT_EQ(Text(RunAttempt(options)), "FINISHED: exit code 0");
}

}  // namespace
}  // namespace reprise::conformance
