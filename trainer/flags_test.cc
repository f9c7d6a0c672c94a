#include "trainer/flags.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(GoOnCommand, NamesTheRunFolderAndItsData) {
  CommandLine line;
  line.program = "bazel run //trainer --";
  line.run_dir = "/home/anna/runs/a";
  EXPECT_EQ(GoOnCommand(line),
            "bazel run //trainer -- --run_dir=/home/anna/runs/a");
  line.data_dir = "/data";
  EXPECT_EQ(GoOnCommand(line),
            "bazel run //trainer -- --run_dir=/home/anna/runs/a "
            "--data_dir=/data");
}

// What begins a run, or goes back in it, is not part of going on.
TEST(GoOnCommand, LeavesOutWhatWouldNotGoOn) {
  CommandLine line;
  line.run_dir = "/r";
  line.fresh = true;
  line.resume = "20";
  line.init_from = "/other/step-000000000010";
  line.accept_missing = {"config"};
  line.given = {{"run.steps", "60"}};
  EXPECT_EQ(GoOnCommand(line), "trainer --run_dir=/r");
}

TEST(GoOnCommand, QuotesWhatAShellWouldReadOtherwise) {
  CommandLine line;
  line.run_dir = "/home/anna/my run's";
  EXPECT_EQ(GoOnCommand(line), "trainer '--run_dir=/home/anna/my run'\\''s'");
}

}  // namespace
}  // namespace reprise
