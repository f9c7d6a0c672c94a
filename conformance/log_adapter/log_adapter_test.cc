// The adapter as a testee, under the runner: the shipped adapter files on
// stand-ins that print such logs.
#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "conformance/runner/attempt.h"
#include "conformance/runner/campaign.h"
#include "conformance/runner/lineage.h"
#include "conformance/runner/testing/script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Room(const std::string& path) {
  return absl::StrCat(getenv("TEST_SRCDIR"),
                      "/reprise/conformance/log_adapter/", path);
}

struct Trainer {
  const char* adapter;
  const char* script;
  // nanoGPT counts to max_iters itself.
  uint64_t extra_steps;
};

std::ostream& operator<<(std::ostream& out, const Trainer& trainer) {
  return out << trainer.adapter;
}

class Shipped : public testing::TestWithParam<Trainer> {};

INSTANTIATE_TEST_SUITE_P(Adapters, Shipped,
                         testing::Values(Trainer{"plain_loop", "plain_loop", 0},
                                         Trainer{"nanogpt", "nanogpt_like", 1},
                                         Trainer{"huggingface_trainer",
                                                 "huggingface_like", 0}));

TEST_P(Shipped, RunsACampaignOfATrainerThatKnowsNothingOfIt) {
  CampaignOptions options;
  options.testee = *Testee::FromLine(absl::StrCat(
      Room("log_adapter"), " --adapter=",
      Room(absl::StrCat("adapters/", GetParam().adapter, ".adapter"))));
  options.out = FreshFolder("log");
  options.progress = CampaignProgress::Surroundings::None();
  // No kills inside a save: the second stand-in overwrites its only checkpoint
  // in place, as what it stands for does, and would be caught at it.
  options.only = {"default/inside_first_epoch", "default/second_resume",
                  "default/inside_first_epoch_again",
                  "default/before_first_save"};
  options.base.set_steps(60);
  options.base.set_save_every(10);
  v1::Setting* script = options.base.add_settings();
  script->set_name("script");
  script->set_value(Room(absl::StrCat("testing/", GetParam().script, ".py")));
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const v1::CaseRecord& one : result->record.cases()) {
    EXPECT_TRUE(one.complete()) << one.name() << ": " << one.reason();
  }
  ASSERT_TRUE(result->complete()) << result->record.describe().detail();

  // A resumed run of these stand-ins repeats the uninterrupted one to the last
  // printed digit, and every step of both is there.
  const auto files = ReadCampaign(options.out);
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> losses;
  for (const Event& event : files->cases[0].attempts[0].log.events) {
    if (event.has_step()) losses.push_back(event.step().loss().text());
  }
  ASSERT_EQ(losses.size(), 60 + GetParam().extra_steps);
  int resumed = 0;
  for (const CaseFiles& one : files->cases) {
    if (one.plan.name() == "baseline-other-seed") continue;
    for (const AttemptFiles& attempt : one.attempts) {
      ASSERT_TRUE(attempt.log.events[0].has_start());
      uint64_t step = attempt.log.events[0].start().resumed_step();
      if (step > 0) {
        ++resumed;
        EXPECT_EQ(step % 5, 0) << "a step that was saved";
      }
      for (const Event& event : attempt.log.events) {
        if (!event.has_step()) continue;
        EXPECT_EQ(event.step().step(), ++step) << one.plan.name();
        EXPECT_EQ(event.step().loss().text(), losses[step - 1])
            << one.plan.name() << " step " << step;
      }
    }
  }
  EXPECT_GT(resumed, 3);
}

// --- One attempt of a trainer in a line of shell.

AttemptOptions Adapted(const std::string& shell, const std::string& more = "") {
  const std::string folder = FreshFolder("adapted");
  WriteFile(folder + "/trainer.sh", shell);
  WriteFile(
      folder + "/a.adapter",
      absl::StrCat("name: \"sh\" command: \"/bin/sh\" "
                   "command: \"{adapter_folder}/trainer.sh\" steps: 3 "
                   "lines { kind: STEP regex: \"step (?P<step>\\\\d+)\" }",
                   more));
  WriteFile(folder + "/request.json",
            absl::StrCat("{\"protocol\":\"1\",\"run_folder\":\"", folder,
                         "\",\"events\":\"", folder, "/events.jsonl\"}"));
  AttemptOptions options = ScriptOptions("");
  options.events_path = folder + "/events.jsonl";
  options.command = {Room("log_adapter"), "--adapter=" + folder + "/a.adapter",
                     "run", "--request=" + folder + "/request.json"};
  return options;
}

std::string Outcome(const AttemptResult& result) {
  return absl::StrCat(OutcomeText(result.record.outcome()), ": ",
                      result.record.detail());
}

TEST(LogAdapter, GivesTheTrainerATerminal) {
  AttemptOptions options = Adapted(
      "test -t 1 && test -t 2 && test -t 0 || exit 9\n"
      "stty size; printf 'step 1\\rstep 2\\r\\033[1mstep 3\\033[0m'");
  const AttemptResult result = RunAttempt(options);
  EXPECT_THAT(Outcome(result), HasSubstr("FINISHED"));
  EXPECT_THAT(ReadFile(options.stdout_path), HasSubstr("50 500\n"));
  EXPECT_EQ(result.events.size(), 5);
}

TEST(LogAdapter, PassesTheTrainersFailureOn) {
  EXPECT_THAT(Outcome(RunAttempt(Adapted("echo step 1; exit 1"))),
              HasSubstr("TRAINING_FAILED"));
  EXPECT_THAT(Outcome(RunAttempt(Adapted("echo step 1; exit 77"))),
              HasSubstr("TRAINING_FAILED"));
  EXPECT_THAT(Outcome(RunAttempt(Adapted("echo step 1; kill -9 $$"))),
              HasSubstr("FOREIGN_SIGNAL: died of signal 9"));
  EXPECT_THAT(Outcome(RunAttempt(Adapted("echo step 1; kill -SEGV $$"))),
              HasSubstr("FOREIGN_SIGNAL: died of signal 11"));
}

TEST(LogAdapter, DoesNotCallARunThatEndsEarlyFinished) {
  EXPECT_THAT(Outcome(RunAttempt(Adapted("echo step 1; echo step 2"))),
              HasSubstr("SHORT"));
}

TEST(LogAdapter, ATrainerThatCannotBeStartedIsAFailure) {
  AttemptOptions options = Adapted("");
  const std::string adapter = options.command[1].substr(10);
  WriteFile(adapter,
            "name: \"x\" command: \"/nowhere/train\" steps: 1 "
            "lines { kind: STEP regex: \"(?P<step>x)\" }");
  EXPECT_THAT(Outcome(RunAttempt(options)), HasSubstr("TRAINING_FAILED"));
  EXPECT_THAT(ReadFile(options.stdout_path),
              HasSubstr("cannot execute /nowhere/train"));
}

TEST(LogAdapter, ForwardsSigterm) {
  const auto run = [](const std::string& shell) {
    AttemptOptions options = Adapted(shell);
    options.kill.set_where(v1::Kill::AFTER_STEP);
    options.kill.set_signal(v1::Kill::TERM);
    options.kill.set_step(1);
    return Outcome(RunAttempt(options));
  };
  const std::string loop = "while :; do sleep 0.02; done\n";
  EXPECT_THAT(run("trap 'exit 0' TERM; echo step 1; " + loop),
              HasSubstr("STOPPED: stopped on SIGTERM"));
  EXPECT_THAT(run("trap 'exit 13' TERM; echo step 1; " + loop),
              HasSubstr("STOPPED: stopped on SIGTERM"));
  EXPECT_THAT(run("echo step 1; " + loop), HasSubstr("INTERRUPTED"));
  EXPECT_THAT(run("trap 'exit 143' TERM; echo step 1; " + loop),
              HasSubstr("INTERRUPTED"));
}

TEST(LogAdapter, TheWholeTreeDiesWithIt) {
  AttemptOptions options =
      Adapted("setsid sleep 1000 &\nsleep 1000 &\necho step 1; sleep 1000\n");
  options.environment.push_back("REPRISE_TEST_MARK=adapted");
  options.kill.set_where(v1::Kill::AFTER_STEP);
  options.kill.set_signal(v1::Kill::KILL);
  options.kill.set_step(1);
  EXPECT_THAT(Outcome(RunAttempt(options)), HasSubstr("INTERRUPTED"));
  EXPECT_FALSE(AnyProcessMarked("REPRISE_TEST_MARK=adapted"));
}

TEST(LogAdapter, RefusesABadAdapterWithItsPlace) {
  AttemptOptions options = Adapted("", "\ncomand: \"x\"");
  options.events_path.clear();
  const AttemptResult result = RunAttempt(options);
  EXPECT_EQ(result.record.exit_code(), 1);
  EXPECT_THAT(ReadFile(options.stderr_path), HasSubstr("a.adapter:2:7: "));
}

TEST(LogAdapter, RefusesARequestThatItCannotServe) {
  AttemptOptions options = Adapted("");
  const std::string request = options.command[3].substr(10);
  std::string text = ReadFile(request);
  text.insert(1, "\"accumulation\":4,");
  WriteFile(request, text);
  EXPECT_THAT(Outcome(RunAttempt(options)), HasSubstr("UNSUPPORTED"));
}

}  // namespace
}  // namespace reprise::conformance
