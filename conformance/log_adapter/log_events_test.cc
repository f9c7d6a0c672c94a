#include "conformance/log_adapter/log_events.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/protocol/number.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Runs lines through an adapter of these patterns.
class Log {
 public:
  Log(const std::string& lines, LogEvents::Start start,
      const std::string& checkpoints = "")
      : file_(*AdapterFile::Parse(
            absl::StrCat("name: \"x\" command: \"y\" ", lines, checkpoints),
            "a.adapter")),
        events_(file_.adapter(), {{"steps", "30"}}, std::move(start),
                [this](const Event& event) { seen_.push_back(event); }) {}

  LogEvents* operator->() { return &events_; }
  const std::vector<Event>& seen() const { return seen_; }

  // "start 0", "step 1", "begun 10", "committed 10 name", ...
  std::vector<std::string> Brief() const {
    std::vector<std::string> brief;
    for (const Event& event : seen_) {
      if (event.has_start()) {
        brief.push_back(absl::StrCat("start ", event.start().resumed_step()));
      } else if (event.has_step()) {
        brief.push_back(absl::StrCat("step ", event.step().step()));
      } else if (event.has_evaluation()) {
        brief.push_back(absl::StrCat("evaluation ", event.evaluation().step()));
      } else if (event.has_save()) {
        brief.push_back(absl::StrCat(
            event.save().phase() == v1::SaveEvent::BEGUN ? "begun "
                                                         : "committed ",
            event.save().step(), event.save().checkpoint().empty() ? "" : " ",
            event.save().checkpoint()));
      } else if (event.has_end()) {
        brief.push_back(absl::StrCat("end ", event.end().step(), " ",
                                     event.end().finished()));
      }
    }
    return brief;
  }

 private:
  const AdapterFile file_;
  std::vector<Event> seen_;
  LogEvents events_;
};

constexpr char kSteps[] =
    R"text(lines { kind: STEP regex: "step (?P<step>\\S+) loss (?P<loss>\\S+)" }
       lines { kind: SAVE_BEGUN regex: "^saving (?P<step>\\d+)" }
       lines { kind: SAVE_COMMITTED regex: "^saved (?P<step>\\d+)" }
       lines { kind: RESUMED regex: "^resumed at (?P<step>\\d+)" })text";

LogEvents::Start Found(std::vector<CheckpointFile> files) {
  LogEvents::Start start;
  start.found = std::move(files);
  return start;
}

TEST(LogEvents, StartsFreshWithoutACheckpoint) {
  Log log(kSteps, {});
  EXPECT_THAT(log.Brief(), ElementsAre("start 0"));
  log->TakeLine("step 1 loss 0.5");
  log->TakeLine("unrelated");
  EXPECT_THAT(log.Brief(), ElementsAre("start 0", "step 1"));
}

TEST(LogEvents, M52_BelievesTheLogAndNotTheNameOfTheFile) {
  // There is a checkpoint of step 20, and the trainer starts from
  // scratch.
  Log log(kSteps, Found({{"c20", "c20#1", 20}}));
  EXPECT_THAT(log.Brief(), IsEmpty());
  log->TakeLine("step 1 loss 0.5");
  EXPECT_THAT(log.Brief(), ElementsAre("start 0", "step 1"));
}

TEST(LogEvents, TakesTheStepBeforeTheFirstForTheResumedOne) {
  Log log(kSteps, Found({{"c20", "c20#1", 20}}));
  log->TakeLine("step 21 loss 0.5");
  EXPECT_THAT(log.Brief(), ElementsAre("start 20", "step 21"));
  EXPECT_EQ(log.seen()[0].start().checkpoint(), "step-20");
}

TEST(LogEvents, TakesALineThatSaysSo) {
  Log log(kSteps, Found({{"c20", "c20#1", 20}}));
  log->TakeLine("saving 7");
  EXPECT_THAT(log.Brief(), IsEmpty()) << "waits for the start";
  log->TakeLine("resumed at 20");
  log->TakeLine("step 22 loss 0.5");
  EXPECT_THAT(log.Brief(), ElementsAre("start 20", "begun 7", "step 22"));
}

TEST(LogEvents, KeepsNumbersAsTheyWerePrinted) {
  Log log(
      R"text(lines { kind: STEP regex: "(?P<step>\\d+) (?P<loss>\\S+) lr (?P<lr>\\S+) (?P<lr2>\\S+) (?P<scale>\\S+)( s(?P<skipped>kip))? e(?P<epoch>\\S+) \\[(?P<ids>.*)\\]" })text",
      {});
  log->TakeLine("1 0.6931 lr 1e-3 5e-4 65536 skip e0.98 [3, 1, 2]");
  const v1::StepEvent& step = log.seen().back().step();
  EXPECT_EQ(step.loss().text(), "0.6931");
  EXPECT_EQ(Read(step.loss())->resolution, 0.00005);
  ASSERT_EQ(step.lr_size(), 2);
  EXPECT_EQ(step.lr(0).text(), "1e-3");
  EXPECT_EQ(step.lr(1).text(), "5e-4");
  EXPECT_EQ(step.scale().v(), 65536);
  EXPECT_TRUE(step.skipped());
  EXPECT_EQ(step.epoch(), 0) << "epochs that were completed";
  EXPECT_THAT(step.id_list(), ElementsAre(3, 1, 2));
  log->TakeLine("2 nan lr 1e-3 5e-4 65536 e1.0 [3, x]");
  const v1::StepEvent& next = log.seen().back().step();
  EXPECT_FALSE(next.loss().has_v());
  EXPECT_EQ(next.loss().text(), "nan");
  EXPECT_FALSE(next.has_skipped());
  EXPECT_EQ(next.epoch(), 1);
  EXPECT_THAT(next.id_list(), IsEmpty()) << "half a list is none";
}

TEST(LogEvents, AddsTheOffsetOfALogThatCountsFromZero) {
  Log log(
      R"text(lines { kind: STEP step_offset: 1 regex: "iter (?P<step>[\\d,]+)" })text",
      {});
  log->TakeLine("iter 0");
  log->TakeLine("iter 1,999");
  EXPECT_THAT(log.Brief(), ElementsAre("start 0", "step 1", "step 2000"));
}

TEST(LogEvents, CountsStepsThatHaveNoNumber) {
  const std::string lines =
      R"text(lines { kind: STEP step_from: COUNT regex: "loss (?P<loss>.*)" })text";
  Log fresh(lines, {});
  fresh->TakeLine("loss 1");
  fresh->TakeLine("loss 1");
  EXPECT_THAT(fresh.Brief(), ElementsAre("start 0", "step 1", "step 2"));
  Log resumed(lines, Found({{"c20", "c20#1", 20}}));
  resumed->TakeLine("loss 1");
  EXPECT_THAT(resumed.Brief(), ElementsAre("start 20", "step 21"));
}

TEST(LogEvents, TakesTheNumberFromTheBarBehindTheValues) {
  Log log(
      R"text(lines { kind: STEP step_from: NEXT_CARRY regex: "loss (?P<loss>.*)" }
             lines { kind: CARRY regex: "(?P<step>\\d+)/{steps} " })text",
      {});
  for (const char* line : {" 0/30 ", " 1/30 ", "loss 0.1", " 1/30 ", "1/3 ",
                           " 2/30 ", "loss 0.2", " 2/30 ", "loss 0.3"}) {
    log->TakeLine(line);
  }
  log->Finish();
  EXPECT_THAT(log.Brief(),
              ElementsAre("start 0", "step 1", "step 2", "step 3"));
  EXPECT_EQ(log.seen()[2].step().loss().text(), "0.2");
}

TEST(LogEvents, CarriesValuesOfEarlierLinesIntoTheStep) {
  Log log(R"text(lines { kind: CARRY regex: "lr (?P<lr>.*)" }
             lines { kind: STEP regex: "step (?P<step>\\d+)" })text",
          {});
  log->TakeLine("lr 0.1");
  log->TakeLine("step 1");
  log->TakeLine("step 2");
  EXPECT_EQ(log.seen()[1].step().lr(0).text(), "0.1");
  EXPECT_EQ(log.seen()[2].step().lr_size(), 0) << "not carried twice";
}

TEST(LogEvents, TellsSavesByLines) {
  Log log(kSteps, {});
  log->TakeLine("step 10 loss 0.5");
  log->TakeLine("saving 10");
  log->TakeLine("saved 10");
  // The file is seen a little later.
  log->SaveBegun({"c10", "c10#1", 10});
  EXPECT_THAT(log.Brief(), ElementsAre("start 0", "step 10", "begun 10",
                                       "committed 10 step-10"));
}

TEST(LogEvents, TellsSavesByFiles) {
  Log log(kSteps, {},
          "checkpoints { files: \"c*\" step: \"c(?P<step>.*)\" "
          "commit_when_closed: true }");
  log->TakeLine("step 10 loss 0.5");
  log->SaveBegun({"c10", "c10#0", 10});
  log->TakeLine("step 11 loss 0.5");
  log->SaveCommitted({"c10", "c10#1", 10});
  EXPECT_THAT(log.Brief(), ElementsAre("start 0", "step 10", "begun 10",
                                       "step 11", "committed 10 c10#1"));
}

TEST(LogEvents, NamesTheFileThatItWentOnFromWhenThatIsKnown) {
  const std::string checkpoints =
      "checkpoints { files: \"c*\" step: \"c(?P<step>.*)\" "
      "commit_when_closed: true }";
  Log log(kSteps, Found({{"c10", "c10#1", 10}, {"c20", "c20#1", 20}}),
          checkpoints);
  log->TakeLine("step 11 loss 0.5");
  EXPECT_EQ(log.seen()[0].start().resumed_step(), 10);
  EXPECT_EQ(log.seen()[0].start().checkpoint(), "c10#1");
}

TEST(LogEvents, IsFinishedByTheLastStepOrByALine) {
  LogEvents::Start start;
  start.planned_steps = 2;
  Log by_step(kSteps, start);
  by_step->TakeLine("step 1 loss 1");
  EXPECT_FALSE(by_step->SaysFinished());
  by_step->TakeLine("step 2 loss 1");
  EXPECT_TRUE(by_step->SaysFinished());

  Log by_line(absl::StrCat(kSteps, "lines { kind: FINISHED regex: \"^done\" }"),
              start);
  by_line->TakeLine("step 2 loss 1");
  EXPECT_FALSE(by_line->SaysFinished());
  by_line->TakeLine("done");
  EXPECT_TRUE(by_line->SaysFinished());
  by_line->End(true);
  EXPECT_EQ(by_line.Brief().back(), "end 2 1");
}

TEST(LogEvents, StartsBeforeItEndsARunThatWasComplete) {
  Log log(kSteps, Found({{"c30", "c30#1", 30}}));
  log->End(true);
  EXPECT_THAT(log.Brief(), ElementsAre("start 30", "end 30 1"));
}

}  // namespace
}  // namespace reprise::conformance
