#include "trainer/run_summary.h"

#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A run that a signal ends in its second attempt.
RunSummary Stopped() {
  RunSummary s;
  s.end = RunSummary::End::kStopped;
  s.stopped_by = "SIGTERM";
  s.planned_steps = 60;
  s.attempted = 43;
  s.applied = 40;
  s.skipped = 3;
  s.first_step = 40;
  s.attempt = 2;
  s.first_attempt = 1;
  s.resumed = true;
  s.evaluation.last =
      EvaluationState::Result{40, {{"accuracy", 0.84125}, {"loss", 0.432149}}};
  s.best = BestState{"accuracy", true, 0.84125, 40};
  s.seconds = 7.9;
  s.run_folder = "/home/anna/runs/a";
  s.checkpoints = {"step-000000000043", "step-000000000040",
                   "step-000000000030"};
  s.go_on = "bazel run //trainer -- --run_dir=/home/anna/runs/a";
  return s;
}

TEST(RunSummary, StoppedRunSaysHowFarItCameAndWhatToType) {
  EXPECT_EQ(SummaryText(Stopped(), 0),
            "Stopped by SIGTERM at step 43 of 60\n"
            "  steps        43: 40 applied, 3 skipped by overflow\n"
            "  attempts     2, resumed once, the last time from step 40\n"
            "  evaluation   step 40: accuracy 84.12 %, loss 0.4321\n"
            "  best         accuracy 84.12 % at step 40, step-000000000040\n"
            "  time         0:07 in this attempt, 3 steps\n"
            "  run folder   /home/anna/runs/a\n"
            "  checkpoints  3, the newest step-000000000043\n"
            "  records      metrics.jsonl\n"
            "  loss curve   loss.svg\n"
            "  go on with   bazel run //trainer -- "
            "--run_dir=/home/anna/runs/a\n");
}

TEST(RunSummary, NarrowTerminalGetsTheSameWordsInMoreLines) {
  EXPECT_EQ(SummaryText(Stopped(), 40),
            "Stopped by SIGTERM at step 43 of 60\n"
            "  steps        43: 40 applied, 3 skipped\n"
            "               by overflow\n"
            "  attempts     2, resumed once, the last\n"
            "               time from step 40\n"
            "  evaluation   step 40: accuracy 84.12\n"
            "               %, loss 0.4321\n"
            "  best         accuracy 84.12 % at step\n"
            "               40, step-000000000040\n"
            "  time         0:07 in this attempt, 3\n"
            "               steps\n"
            "  run folder   /home/anna/runs/a\n"
            "  checkpoints  3, the newest\n"
            "               step-000000000043\n"
            "  records      metrics.jsonl\n"
            "  loss curve   loss.svg\n"
            "  go on with   bazel run //trainer --\n"
            "               --run_dir=/home/anna/runs/a\n");
}

TEST(RunSummary, FinishedRunNeedsNothingMore) {
  RunSummary s = Stopped();
  s.end = RunSummary::End::kFinished;
  s.attempted = 60;
  s.go_on.clear();
  const std::string text = SummaryText(s, 0);
  EXPECT_THAT(text, HasSubstr("Finished: 60 of 60 steps\n"));
  EXPECT_THAT(text, HasSubstr("0:07 in this attempt, 20 steps\n"));
  EXPECT_THAT(text, Not(HasSubstr("go on with")));
}

TEST(RunSummary, RunThatStopsEarlySaysWhy) {
  RunSummary s = Stopped();
  s.end = RunSummary::End::kFinished;
  EXPECT_THAT(SummaryText(s, 0), HasSubstr("Finished early: 43 of 60 steps, "
                                           "evaluations no longer improve\n"));
}

TEST(RunSummary, NothingToDoClaimsNoTimeAndNoAttempt) {
  RunSummary s = Stopped();
  s.end = RunSummary::End::kNothingToDo;
  s.attempted = s.first_step = 60;
  const std::string text = SummaryText(s, 0);
  EXPECT_THAT(text, HasSubstr("The run is finished: 60 of 60 steps. Nothing to "
                              "do (--fresh starts again).\n"));
  EXPECT_THAT(text, Not(HasSubstr("time ")));
  EXPECT_THAT(text, Not(HasSubstr("attempt")));
}

TEST(RunSummary, ErrorSaysWhereTheRunStands) {
  RunSummary s = Stopped();
  s.end = RunSummary::End::kFailed;
  EXPECT_THAT(SummaryText(s, 0), HasSubstr("Ended by an error at step 43 of "));
}

TEST(RunSummary, StopInsideAStepCountsItsMicroSteps) {
  RunSummary s = Stopped();
  s.micro = 2;
  EXPECT_THAT(SummaryText(s, 0),
              HasSubstr("at step 43 of 60 and 2 micro-steps\n"));
}

TEST(RunSummary, HowOftenIsSaidAsFarAsItIsKnown) {
  RunSummary s = Stopped();
  s.attempt = 4;
  EXPECT_THAT(SummaryText(s, 0),
              HasSubstr("attempts     4, resumed 3 times, the last time from "
                        "step 40\n"));
  s.first_attempt = 3;  // --fresh began it
  EXPECT_THAT(SummaryText(s, 0), HasSubstr("4, resumed once, the last time"));
  s.first_attempt.reset();
  EXPECT_THAT(SummaryText(s, 0), HasSubstr("4, the last time from step 40\n"));
  s.resumed = false;
  EXPECT_THAT(SummaryText(s, 0), HasSubstr("4, from the start\n"));
}

TEST(RunSummary, WhatIsNotThereIsSaid) {
  RunSummary s = Stopped();
  s.evaluation = {};
  s.best.reset();
  s.checkpoints.clear();
  s.no_loss_curve = "no space left";
  const std::string text = SummaryText(s, 0);
  EXPECT_THAT(text, HasSubstr("evaluation   none yet\n"));
  EXPECT_THAT(text, HasSubstr("best         none yet\n"));
  EXPECT_THAT(text, HasSubstr("checkpoints  none\n"));
  EXPECT_THAT(text, HasSubstr("loss curve   none: no space left\n"));
}

TEST(RunSummary, EvaluationThatIsOwedIsSaid) {
  RunSummary s = Stopped();
  s.evaluation.pending = true;
  EXPECT_THAT(SummaryText(s, 0),
              HasSubstr("loss 0.4321; the one of step 43 is still to be done"));
}

TEST(RunSummary, BestWithoutItsCheckpointSaysSo) {
  RunSummary s = Stopped();
  s.best = BestState{"ema/loss", false, 0.40212, 35};
  EXPECT_THAT(SummaryText(s, 0),
              HasSubstr("best         ema/loss 0.4021 at step 35, of which "
                        "there is no checkpoint\n"));
}

TEST(RunSummary, KeepsToTheWidthButForPathsAndCommands) {
  RunSummary s = Stopped();
  s.run_folder = "/a";
  s.go_on = "trainer --run_dir=/a";
  for (int columns = 36; columns <= 200; ++columns) {
    for (absl::string_view row :
         absl::StrSplit(SummaryText(s, columns), '\n')) {
      EXPECT_LE(row.size(), columns) << row;
    }
  }
}

}  // namespace
}  // namespace reprise
