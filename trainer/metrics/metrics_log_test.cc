#include "trainer/metrics/metrics_log.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StepEvent StepOf(uint64_t step, uint64_t attempt = 1) {
  StepEvent event;
  event.attempt = attempt;
  event.step = step;
  event.loss = 1.0f / step;
  event.lr = {0.1};
  return event;
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (file) bytes << file.rdbuf();
  return bytes.str();
}

std::vector<std::string> Lines(const std::string& bytes) {
  std::vector<std::string> lines = absl::StrSplit(bytes, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

class MetricsLogTest : public ::testing::Test {
 protected:
  MetricsLogTest() {
    std::string form = absl::StrCat(::testing::TempDir(), "/metrics-XXXXXX");
    folder_ = mkdtemp(form.data());
    metrics_ = absl::StrCat(folder_, "/", kMetricsFile);
    superseded_ = absl::StrCat(folder_, "/", kSupersededMetricsFile);
  }

  MetricsLog Open(uint64_t step) {
    auto log = MetricsLog::OpenForResume(folder_, step);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  void WriteSteps(uint64_t from, uint64_t to, uint64_t attempt = 1) {
    MetricsLog log = Open(from - 1);
    for (uint64_t step = from; step <= to; ++step) {
      ASSERT_TRUE(log.Append(StepOf(step, attempt)).ok());
    }
  }
  // The steps in a file, which has events only.
  std::vector<uint64_t> Steps(const std::string& path) {
    std::vector<uint64_t> steps;
    if (access(path.c_str(), F_OK) != 0) return steps;
    auto events = ReadMetricsFile(path);
    EXPECT_TRUE(events.ok()) << events.status();
    for (const MetricsEvent& event : *events) {
      steps.push_back(std::visit([](const auto& e) { return e.step; }, event));
    }
    return steps;
  }

  std::string folder_, metrics_, superseded_;
};

TEST_F(MetricsLogTest, AppendsOneLineAnEvent) {
  MetricsLog log = Open(0);
  ASSERT_TRUE(log.Append(StepOf(1)).ok());
  ASSERT_TRUE(log.Append(EvaluationEvent{1, 1, 0.5, 0.75, 10}).ok());
  ASSERT_TRUE(log.Sync().ok());
  EXPECT_EQ(
      Read(metrics_),
      absl::StrCat(FormatEvent(StepOf(1)), "\n",
                   FormatEvent(EvaluationEvent{1, 1, 0.5, 0.75, 10}), "\n"));
  EXPECT_EQ(access(superseded_.c_str(), F_OK), -1);
}

TEST_F(MetricsLogTest, DescriptorAppendsAndIsNotInherited) {
  MetricsLog log = Open(0);
  // The lowest descriptor whose file is the log.
  int found = -1;
  for (int fd = 3; fd < 256 && found < 0; ++fd) {
    std::string target(4096, '\0');
    ssize_t size = readlink(absl::StrCat("/proc/self/fd/", fd).c_str(),
                            target.data(), target.size());
    target.resize(std::max<ssize_t>(size, 0));
    // TempDir may have a double slash that the system does not report.
    if (absl::EndsWith(target, metrics_.substr(folder_.rfind('/')))) {
      found = fd;
    }
  }
  ASSERT_GE(found, 0);
  EXPECT_TRUE(fcntl(found, F_GETFL) & O_APPEND);
  EXPECT_TRUE(fcntl(found, F_GETFD) & FD_CLOEXEC);
}

TEST_F(MetricsLogTest, ResumeMovesLaterLinesAndRepeatsNoStep) {
  WriteSteps(1, 10);
  {
    MetricsLog log = Open(6);
    EXPECT_EQ(log.superseded_lines(), 4u);
    for (uint64_t step = 7; step <= 9; ++step) {
      ASSERT_TRUE(log.Append(StepOf(step, 2)).ok());
    }
  }
  EXPECT_THAT(Steps(metrics_), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(Steps(superseded_), ElementsAre(7, 8, 9, 10));
  // And again: what is superseded grows in order.
  Open(8);
  EXPECT_THAT(Steps(metrics_), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(Steps(superseded_), ElementsAre(7, 8, 9, 10, 9));
}

TEST_F(MetricsLogTest, ResumeAtTheEndChangesNothing) {
  WriteSteps(1, 5);
  std::string before = Read(metrics_);
  MetricsLog log = Open(5);
  EXPECT_EQ(log.superseded_lines(), 0u);
  EXPECT_EQ(Read(metrics_), before);
  EXPECT_EQ(access(superseded_.c_str(), F_OK), -1);
}

TEST_F(MetricsLogTest, FreshStartKeepsNoLineAndLosesNone) {
  WriteSteps(1, 3);
  Open(0);
  EXPECT_EQ(Read(metrics_), "");
  EXPECT_THAT(Steps(superseded_), ElementsAre(1, 2, 3));
}

TEST_F(MetricsLogTest, EvaluationsFollowTheirStep) {
  {
    MetricsLog log = Open(0);
    EXPECT_EQ(log.last_evaluated_step(), 0u);
    ASSERT_TRUE(log.Append(StepOf(1)).ok());
    ASSERT_TRUE(log.Append(EvaluationEvent{1, 1, 0.5, 0.75, 10}).ok());
    ASSERT_TRUE(log.Append(StepOf(2)).ok());
    ASSERT_TRUE(log.Append(EvaluationEvent{1, 2, 0.5, 0.75, 10}).ok());
    EXPECT_EQ(log.last_evaluated_step(), 2u);
  }
  EXPECT_EQ(Open(2).last_evaluated_step(), 2u);
  EXPECT_EQ(Open(1).last_evaluated_step(), 1u);
  EXPECT_THAT(Steps(metrics_), ElementsAre(1, 1));
  EXPECT_THAT(Steps(superseded_), ElementsAre(2, 2));
}

TEST_F(MetricsLogTest, CutLastLineMovesEvenWhenItsStepStands) {
  WriteSteps(1, 3);
  std::string whole = Read(metrics_);
  std::string last = FormatEvent(StepOf(3));
  for (size_t cut : {size_t{1}, size_t{2}, last.size() / 2, last.size()}) {
    unlink(superseded_.c_str());
    std::ofstream(metrics_) << whole.substr(0, whole.size() - cut);
    MetricsLog log = Open(3);
    EXPECT_EQ(log.superseded_lines(), 1u);
    EXPECT_THAT(Steps(metrics_), ElementsAre(1, 2));
    EXPECT_EQ(Read(superseded_),
              absl::StrCat(last.substr(0, last.size() + 1 - cut), "\n"));
    ASSERT_TRUE(log.Append(StepOf(4)).ok());
    EXPECT_THAT(Steps(metrics_), ElementsAre(1, 2, 4));
  }
}

TEST_F(MetricsLogTest, LinesThatAreNoEventsMove) {
  WriteSteps(1, 1);
  std::ofstream(metrics_, std::ios::app) << "something else\n\n"
                                         << FormatEvent(StepOf(2)) << "\n";
  EXPECT_EQ(Open(2).superseded_lines(), 2u);
  EXPECT_THAT(Steps(metrics_), ElementsAre(1, 2));
  EXPECT_EQ(Read(superseded_), "something else\n\n");
}

TEST_F(MetricsLogTest, C27_KillBetweenAppendAndRenameLosesNothing) {
  WriteSteps(1, 4);
  std::string before = Read(metrics_);
  Open(2);
  // As a kill before the rename leaves it: appended, not yet replaced, with a
  // temporary file half written.
  std::ofstream(metrics_) << before;
  std::ofstream(absl::StrCat(metrics_, ".tmp")) << before.substr(0, 100);
  Open(2);
  EXPECT_THAT(Steps(metrics_), ElementsAre(1, 2));
  EXPECT_THAT(Steps(superseded_), ElementsAre(3, 4, 3, 4));
}

TEST_F(MetricsLogTest, C27_KillDuringTheAppendLosesNothing) {
  WriteSteps(1, 4);
  std::string third = FormatEvent(StepOf(3));
  std::ofstream(superseded_) << third.substr(0, 40);
  Open(2);
  EXPECT_THAT(Lines(Read(superseded_)),
              ElementsAre(third.substr(0, 40), third, FormatEvent(StepOf(4))));
}

TEST_F(MetricsLogTest, C27_KillAtARandomMomentLosesNoLineAndRepeatsNoStep) {
  const char* given = std::getenv("REPRISE_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                   : std::random_device()();
  SCOPED_TRACE(
      absl::StrCat("replay: bazel test //trainer/metrics:metrics_log_test "
                   "--test_env=REPRISE_SEED=",
                   seed));
  std::mt19937_64 random(seed);
  WriteSteps(1, 3000);
  const std::string whole = Read(metrics_);
  const std::vector<std::string> all = Lines(whole);
  for (int round = 0; round < 30; ++round) {
    unlink(superseded_.c_str());
    std::ofstream(metrics_) << whole;
    pid_t child = fork();
    if (child == 0) {
      _exit(MetricsLog::OpenForResume(folder_, 1000).ok() ? 0 : 1);
    }
    usleep(random() % 8000);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);

    std::string now = Read(metrics_);
    std::vector<std::string> kept = Lines(now);
    ASSERT_TRUE(now == whole || kept.size() == 1000u) << kept.size();
    std::set<std::string> anywhere(kept.begin(), kept.end());
    for (const std::string& line : Lines(Read(superseded_))) {
      anywhere.insert(line);
    }
    for (const std::string& line : all) ASSERT_TRUE(anywhere.count(line));

    Open(1000);
    ASSERT_EQ(Lines(Read(metrics_)),
              std::vector<std::string>(all.begin(), all.begin() + 1000));
  }
}

TEST_F(MetricsLogTest, C29_FailedWriteIsAnErrorAndLeavesWholeLines) {
  WriteSteps(1, 3);
  std::string before = Read(metrics_);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto log = MetricsLog::OpenForResume(folder_, 3);
    // Room for a part of the next line.
    struct rlimit limit = {before.size() + 50, before.size() + 50};
    if (!log.ok() || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(97);
    absl::Status status = log->Append(StepOf(4));
    if (status.code() != absl::StatusCode::kUnavailable) _exit(96);
    _exit(std::string(status.message()).find(metrics_) == std::string::npos);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Read(metrics_), before);
}

TEST_F(MetricsLogTest, MissingFolderIsAnErrorThatNamesTheFile) {
  auto log = MetricsLog::OpenForResume("/nonexistent/run", 0);
  EXPECT_EQ(log.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(log.status().message()),
              HasSubstr("/nonexistent/run/metrics.jsonl"));
}

TEST_F(MetricsLogTest, MovesAndStaysOpen) {
  MetricsLog first = Open(0);
  MetricsLog second = std::move(first);
  ASSERT_TRUE(second.Append(StepOf(1)).ok());
  MetricsLog third = Open(1);
  third = std::move(second);
  ASSERT_TRUE(third.Append(StepOf(2)).ok());
  EXPECT_THAT(Steps(metrics_), ElementsAre(1, 2));
}

TEST_F(MetricsLogTest, ReaderLeavesOutACutLineAndRefusesAnythingElse) {
  std::ofstream(metrics_) << FormatEvent(StepOf(1)) << "\n{\"type\":";
  EXPECT_THAT(Steps(metrics_), ElementsAre(1));
  std::ofstream(metrics_) << FormatEvent(StepOf(1)) << "\nnonsense\n";
  auto events = ReadMetricsFile(metrics_);
  EXPECT_EQ(events.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(events.status().message()),
              HasSubstr("metrics.jsonl: line 2, column 1: expected"));
  std::ofstream(metrics_, std::ios::trunc).flush();
  EXPECT_THAT(*ReadMetricsFile(metrics_), IsEmpty());
  EXPECT_EQ(ReadMetricsFile("/nonexistent").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace reprise
