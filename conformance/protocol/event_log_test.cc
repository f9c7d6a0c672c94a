#include "conformance/protocol/event_log.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "conformance/protocol/number.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

Event StepWithLoss(uint64_t step, float loss) {
  Event event;
  event.mutable_step()->set_step(step);
  *event.mutable_step()->mutable_loss() = NumberOf(loss);
  return event;
}

std::string FreshPath(const std::string& name) {
  std::string path = testing::TempDir() + "/" + name;
  unlink(path.c_str());
  return path;
}

TEST(EventLog, ReadsWhatWasAppended) {
  std::string path = FreshPath("appended.jsonl");
  for (uint64_t step : {1u, 2u}) {  // two attempts, one file
    auto writer = EventWriter::Open(path);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->Write(StepWithLoss(step, 0.1f)).ok());
  }
  auto log = ReadEvents(path);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_EQ(log->events.size(), 2u);
  EXPECT_EQ(log->events[1].step().step(), 2u);
  EXPECT_EQ(Read(log->events[1].step().loss())->value, double{0.1f});
  EXPECT_TRUE(log->bad_lines.empty());
  EXPECT_TRUE(log->cut_line.empty());
}

TEST(EventLog, ReportsACutLastLineApart) {
  EventLog log = ParseEvents("{\"note\":{\"text\":\"a\"}}\n{\"step\":{\"st");
  EXPECT_EQ(log.events.size(), 1u);
  EXPECT_EQ(log.cut_line, "{\"step\":{\"st");
  EXPECT_TRUE(log.bad_lines.empty());
  EXPECT_EQ(log.complete_bytes, 22u);
}

TEST(EventLog, ALastLineThatParsesIsStillCutWithoutItsNewline) {
  EventLog log = ParseEvents("{\"note\":{\"text\":\"a\"}}");
  EXPECT_TRUE(log.events.empty());
  EXPECT_FALSE(log.cut_line.empty());
}

TEST(EventLog, NamesEveryBadLineAndReadsOn) {
  EventLog log = ParseEvents(
      "progress 10%\n{\"note\":{\"text\":\"a\"}}\n\n{}\n{\"later\":{}}\n");
  EXPECT_EQ(log.events.size(), 1u);
  ASSERT_EQ(log.bad_lines.size(), 3u);
  EXPECT_EQ(log.bad_lines[0].line, 1u);
  EXPECT_EQ(log.bad_lines[0].text, "progress 10%");
  EXPECT_EQ(log.bad_lines[1].line, 4u);
  EXPECT_NE(log.bad_lines[2].error.find("no known kind"), std::string::npos);
}

TEST(EventLog, AFollowerGoesOnWhereItStopped) {
  std::string path = FreshPath("followed.jsonl");
  auto writer = EventWriter::Open(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(StepWithLoss(1, 1)).ok());
  auto first = ReadEvents(path);
  ASSERT_TRUE((*writer)->Write(StepWithLoss(2, 1)).ok());
  auto second = ReadEvents(path, first->complete_bytes);
  ASSERT_EQ(second->events.size(), 1u);
  EXPECT_EQ(second->events[0].step().step(), 2u);
  EXPECT_TRUE(ReadEvents(path, second->complete_bytes)->events.empty());
}

TEST(EventLog, KilledWriterLeavesWholeLinesOnly) {
  std::string path = FreshPath("killed.jsonl");
  pid_t child = fork();
  if (child == 0) {
    auto writer = EventWriter::Open(path);
    for (uint64_t step = 1;; ++step) {
      if (!(*writer)->Write(StepWithLoss(step, 0.25f)).ok()) _exit(1);
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  auto log = ReadEvents(path);
  ASSERT_TRUE(log.ok());
  EXPECT_GT(log->events.size(), 10u);
  EXPECT_TRUE(log->bad_lines.empty());
  EXPECT_EQ(log->cut_line, "");
}

TEST(EventLog, SaysThatALineWasNotWritten) {
  int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  EventWriter writer(full);
  absl::Status status = writer.Write(StepWithLoss(1, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(status.message().find("not written whole"), std::string::npos);
}

TEST(EventLog, AbsentFileIsNotAnEmptyOne) {
  EXPECT_EQ(ReadEvents(FreshPath("absent")).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace reprise::conformance
