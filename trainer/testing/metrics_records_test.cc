#include "trainer/testing/metrics_records.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kStep[] =
    R"({"type":"step","attempt":2,"step":7,"epoch":0,"batch":6,"samples":32,)"
    R"("ids":"00ff00ff00ff00ff","loss":{"v":null,"bits":"7f800000"},)"
    R"("lr":[{"v":0.1,"bits":"3fb999999999999a"},{"v":0,"bits":"8000000000000000"}],)"
    R"("scale":null,"skipped":true,"applied":6})";

TEST(MetricsRecords, KeepsBitsAndForgetsDecimals) {
  const auto record = ParseMetricsLine(kStep);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->type, "step");
  EXPECT_EQ(record->attempt, 2);
  EXPECT_EQ(record->step, 7);
  EXPECT_THAT(record->channels,
              UnorderedElementsAre(
                  Pair("epoch", "0"), Pair("batch", "6"), Pair("samples", "32"),
                  Pair("ids", "00ff00ff00ff00ff"), Pair("loss", "7f800000"),
                  Pair("lr", "3fb999999999999a,8000000000000000"),
                  Pair("scale", "null"), Pair("skipped", "true"),
                  Pair("applied", "6")));
}

TEST(MetricsRecords, RefusesWhatIsNotALine) {
  for (const char* line :
       {"", "{\"type\":\"step\"", R"({"type":"step","step":1})",
        R"({"type":"step","attempt":1,"step":-1})"}) {
    const auto record = ParseMetricsLine(line);
    ASSERT_FALSE(record.ok()) << line;
    EXPECT_THAT(record.status().message(), HasSubstr(line));
  }
}

TEST(MetricsRecords, LeavesOutTheLineThatAKillCut) {
  const std::string folder = FreshFolder("metrics", /*create=*/true);
  const std::string cut = std::string(kStep).substr(0, 40);
  std::ofstream(folder + "/metrics.jsonl") << kStep << "\n" << cut;
  std::ofstream(folder + "/metrics.superseded.jsonl") << kStep << "\n"
                                                      << cut << "\n"
                                                      << kStep << "\n";
  const auto records = ReadMetrics(folder);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->kept.size(), 1);
  EXPECT_EQ(records->superseded.size(), 2);
  EXPECT_EQ(LastRecordedStep(folder), 7);
}

TEST(MetricsRecords, NamesFileAndLineOfWhatItCannotRead) {
  const std::string folder = FreshFolder("metrics", /*create=*/true);
  std::ofstream(folder + "/metrics.jsonl") << kStep << "\nnonsense\n";
  const auto records = ReadMetrics(folder);
  ASSERT_FALSE(records.ok());
  EXPECT_THAT(records.status().message(), HasSubstr("metrics.jsonl:2: "));
}

TEST(MetricsRecords, FolderWithoutMetricsHasNone) {
  EXPECT_EQ(LastRecordedStep(FreshFolder("metrics", /*create=*/true)), 0);
}

}  // namespace
}  // namespace reprise
