#include "trainer/metrics/progress.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A terminal that moves its cursor as a real one does.
class Screen {
 public:
  void Write(absl::string_view text) {
    ++writes;
    for (char c : text) {
      if (c == '\r') {
        column_ = 0;
      } else if (c == '\n') {
        lines.emplace_back();
        column_ = 0;
      } else {
        std::string& line = lines.back();
        line.resize(std::max(line.size(), column_ + 1), ' ');
        line[column_++] = c;
        widest = std::max(widest, column_);
      }
    }
  }
  // What a person sees, without blanks at the ends.
  std::vector<std::string> Seen() const {
    std::vector<std::string> seen = lines;
    for (std::string& line : seen) {
      line.erase(line.find_last_not_of(' ') + 1);
    }
    return seen;
  }

  std::vector<std::string> lines = {""};
  size_t widest = 0;
  int writes = 0;

 private:
  size_t column_ = 0;
};

class ProgressTest : public ::testing::Test {
 protected:
  Progress::Surroundings Around(bool is_terminal) {
    return {is_terminal, [this] { return width_; }, [this] { return now_; },
            [this](absl::string_view text) { screen_.Write(text); }};
  }
  StepEvent EventOf(uint64_t step) {
    StepEvent event;
    event.step = event.applied = step;
    event.epoch = step / 468;
    event.samples = 128 * step;
    event.loss = 0.43214f;
    event.lr = {0.0025};
    event.scale = 65536.0f;
    return event;
  }

  int width_ = 120;
  double now_ = 1000;
  Screen screen_;
};

TEST_F(ProgressTest, ALineMayFollowTheFirstStepAndNoOther) {
  for (const bool is_terminal : {false, true}) {
    screen_ = Screen();
    Progress progress(100, 1, Around(is_terminal));
    progress.SayAfterFirstStep([] { return std::string("took a second"); });
    for (uint64_t step = 41; step <= 43; ++step, now_ += 1) {
      progress.Step(EventOf(step));
    }
    progress.Finish();
    const std::vector<std::string> seen = screen_.Seen();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), "took a second"), 1);
    const auto line = std::find(seen.begin(), seen.end(), "took a second");
    ASSERT_NE(line + 1, seen.end());
    EXPECT_THAT(*(line + 1), HasSubstr(is_terminal ? "43/100" : "42/100"));
  }
}

TEST_F(ProgressTest, TerminalShowsOneLineRedrawn) {
  Progress progress(1872, 50, Around(true));
  for (uint64_t step = 1; step <= 468; ++step, now_ += 0.05) {
    progress.Step(EventOf(step));
  }
  progress.Finish();
  EXPECT_THAT(
      screen_.Seen(),
      ElementsAre("[=======>                      ] 468/1872  epoch 1  loss "
                  "0.4321  lr 0.0025  scale 65536  2560 samples/s  1:10 left",
                  ""));
}

TEST_F(ProgressTest, DrawsAtMostTenTimesASecond) {
  Progress progress(100000, 50, Around(true));
  for (uint64_t step = 1; step <= 3000; ++step, now_ += 0.001) {
    progress.Step(EventOf(step));
  }
  EXPECT_LE(screen_.writes, 31);
  EXPECT_GE(screen_.writes, 25);
}

TEST_F(ProgressTest, FinishDrawsTheLastStep) {
  Progress progress(1872, 50, Around(true));
  progress.Step(EventOf(1));
  progress.Step(EventOf(2));  // too soon to be drawn
  EXPECT_THAT(screen_.Seen()[0], HasSubstr(" 1/1872"));
  progress.Finish();
  EXPECT_THAT(screen_.Seen()[0], HasSubstr(" 2/1872"));
  int writes = screen_.writes;
  progress.Finish();
  EXPECT_EQ(screen_.writes, writes);
}

TEST_F(ProgressTest, MessagesGoAboveTheBar) {
  Progress progress(1872, 50, Around(true));
  progress.Print("before");
  progress.Step(EventOf(1));
  progress.Print("short");
  EvaluationEvent evaluation;
  evaluation.step = 1;
  evaluation.loss = 0.4321;
  evaluation.accuracy = 0.84156;
  evaluation.samples = 10000;
  progress.Evaluation(evaluation);
  progress.Finish();
  std::vector<std::string> seen = screen_.Seen();
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[0], "before");
  EXPECT_EQ(seen[1], "short");
  EXPECT_EQ(seen[2], "step 1: test loss 0.4321, accuracy 84.16 % of 10000");
  EXPECT_THAT(seen[3], HasSubstr("1/1872"));
  EXPECT_EQ(seen[4], "");
}

TEST_F(ProgressTest, NeverReachesTheLastColumnOfAnyWidth) {
  for (width_ = 1; width_ <= 200; ++width_) {
    screen_ = Screen();
    Progress progress(1872, 50, Around(true));
    for (uint64_t step : {1, 9, 10, 1872}) {
      progress.Step(EventOf(step));
      now_ += 1;
    }
    progress.Print("");
    progress.Finish();
    EXPECT_LT(screen_.widest, static_cast<size_t>(width_));
  }
}

TEST_F(ProgressTest, NarrowTerminalLeavesOutTheLeastImportantFirst) {
  struct {
    int width;
    const char* line;
  } cases[] = {
      {91,
       "[=>    ] 468/1872  epoch 1  loss 0.4321  lr 0.0025  scale 65536  128 "
       "samples/s  23:24 left"},
      {80,
       "[==>     ] 468/1872  epoch 1  loss 0.4321  lr 0.0025  128 samples/s  "
       "23:24 left"},
      {70,
       "[==>      ] 468/1872  epoch 1  loss 0.4321  128 samples/s  23:24 left"},
      {50, "[===>         ] 468/1872  loss 0.4321  23:24 left"},
      {37, "[===>        ] 468/1872  loss 0.4321"},
      {20, "[==>     ] 468/1872"},
      {12, "468/1872"},
      {5, "468/"},
  };
  for (const auto& c : cases) {
    width_ = c.width;
    screen_ = Screen();
    Progress progress(1872, 50, Around(true));
    progress.Step(EventOf(467));
    now_ += 1;
    progress.Step(EventOf(468));
    EXPECT_EQ(screen_.Seen()[0], c.line) << "width " << c.width;
  }
}

TEST_F(ProgressTest, ShorterLineLeavesNothingOfTheLongerOne) {
  Progress progress(1872, 50, Around(true));
  StepEvent event = EventOf(1);
  event.loss = 12345.6789f;
  progress.Step(event);
  now_ += 1;
  event = EventOf(2);
  event.scale.reset();
  event.lr.clear();
  progress.Step(event);
  EXPECT_THAT(screen_.Seen()[0], Not(HasSubstr("lr")));
  EXPECT_TRUE(absl::EndsWith(screen_.Seen()[0], "left")) << screen_.Seen()[0];
}

TEST_F(ProgressTest, ElsewhereOneLineEveryFewSteps) {
  Progress progress(120, 50, Around(false));
  for (uint64_t step = 1; step <= 120; ++step, now_ += 0.1) {
    progress.Step(EventOf(step));
  }
  progress.Print("text");
  progress.Finish();
  EXPECT_THAT(
      screen_.lines,
      ElementsAre(
          "step 50/120  epoch 0  loss 0.4321  lr 0.0025  scale 65536  1280 "
          "samples/s  0:07 left",
          "step 100/120  epoch 0  loss 0.4321  lr 0.0025  scale 65536  1280 "
          "samples/s  0:02 left",
          "step 120/120  epoch 0  loss 0.4321  lr 0.0025  scale 65536  1280 "
          "samples/s  0:00 left",
          "text", ""));
}

TEST_F(ProgressTest, CountsSkippedSteps) {
  Progress progress(100, 1, Around(false));
  StepEvent event = EventOf(10);
  event.applied = 7;
  progress.Step(event);
  EXPECT_THAT(screen_.lines[0], HasSubstr("skipped 3"));
}

TEST_F(ProgressTest, NonFiniteLossIsShownAsItIs) {
  Progress progress(100, 1, Around(false));
  StepEvent event = EventOf(10);
  event.loss = std::numeric_limits<float>::quiet_NaN();
  progress.Step(event);
  EXPECT_THAT(screen_.lines[0], HasSubstr("loss nan"));
}

TEST_F(ProgressTest, ResumedRunMeasuresItsOwnSpeedOnly) {
  Progress progress(1872, 1, Around(false));
  progress.Step(EventOf(1000));
  EXPECT_THAT(screen_.lines[0], Not(HasSubstr("samples/s")));
  now_ += 0.5;
  progress.Step(EventOf(1001));
  EXPECT_THAT(screen_.lines[1], HasSubstr("256 samples/s"));
}

}  // namespace
}  // namespace reprise
