// The reference trainer before the judge: every interrupted case of a campaign
// must be a PASS, in each precision and for each model. REPRISE_SOAK=N, an
// integer >= 1, kills N times as often.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "conformance/judge/judge.h"
#include "conformance/judge/judge_campaign.h"
#include "conformance/report/outcome.h"
#include "conformance/runner/campaign.h"
#include "conformance/runner/lineage.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

uint64_t SoakFactor() {
  const char* text = std::getenv("REPRISE_SOAK");
  if (text == nullptr) return 1;
  uint64_t factor = 0;
  if (!absl::SimpleAtoi(text, &factor) || factor == 0) {
    ADD_FAILURE() << "REPRISE_SOAK: expected an integer >= 1, found " << text;
    return 1;
  }
  return factor;
}

// Runs a campaign on the real trainer and judges each case.
CampaignFiles RunReference(const std::string& workload,
                           const std::string& precision, uint64_t steps,
                           uint64_t kills) {
  const char* seed = std::getenv("REPRISE_SEED");
  CampaignOptions options;
  options.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10)
                                 : std::random_device()();
  std::printf(
      "seed %llu; again: bazel test //conformance/suites:"
      "reference_trainer_test --test_env=REPRISE_SEED=%llu\n",
      static_cast<unsigned long long>(options.seed),
      static_cast<unsigned long long>(options.seed));
  options.testee.command = {
      (std::filesystem::current_path() / "trainer/testee/testee").string()};
  options.out =
      absl::StrCat(std::getenv("TEST_TMPDIR"), "/", workload, "-", precision);
  options.kills = kills;
  options.base.set_workload(workload);
  options.base.set_precision(precision);
  options.base.set_steps(steps);
  const auto result = RunCampaign(options);
  EXPECT_TRUE(result.ok()) << result.status();
  auto files = ReadCampaign(options.out);
  EXPECT_TRUE(files.ok()) << files.status();
  return files.ok() ? *std::move(files) : CampaignFiles();
}

void ExpectAllPass(const CampaignFiles& campaign, size_t at_least) {
  size_t passed = 0;
  const v1::Report report = JudgeCampaign(campaign);
  for (const v1::CaseResult& one : report.results()) {
    // What the budget leaves out, or the workload has not.
    if (one.verdict().outcome() == v1::SKIP) continue;
    EXPECT_EQ(one.verdict().outcome(), v1::PASS)
        << one.profile() << "/" << one.case_name() << ": "
        << one.verdict().summary() << "\n"
        << one.verdict().DebugString().substr(0, 3000)
        << "\nagain: " << one.replay_command();
    passed += one.verdict().resumes_size() > 0;
  }
  EXPECT_TRUE(Passed(report));
  EXPECT_GE(passed, at_least);
  std::printf("%d cases passed\n", static_cast<int>(passed));
}

struct Bed {
  const char* workload;
  const char* precision;
  uint64_t steps;
  uint64_t kills;
};

class ReferenceTrainer : public testing::TestWithParam<Bed> {};

TEST_P(ReferenceTrainer, ResumesAsTheUninterruptedRunWhereverItIsKilled) {
  const Bed& bed = GetParam();
  const uint64_t kills = bed.kills * SoakFactor();
  ExpectAllPass(RunReference(bed.workload, bed.precision, bed.steps, kills),
                kills / 2);
}

INSTANTIATE_TEST_SUITE_P(
    Beds, ReferenceTrainer,
    testing::Values(Bed{"mlp", "fp16", 60, 20}, Bed{"mlp", "bf16", 60, 14},
                    Bed{"mlp", "fp32", 60, 14}, Bed{"convnet", "fp16", 60, 14},
                    Bed{"convnet", "bf16", 60, 14},
                    Bed{"convnet", "fp32", 60, 10},
                    // Tied weights and text.
                    Bed{"gpt", "fp16", 60, 10}, Bed{"gpt", "bf16", 60, 10},
                    Bed{"gpt", "fp32", 60, 10}, Bed{"resnet18", "fp32", 24, 2},
                    Bed{"resnet18", "bf16", 24, 2},
                    Bed{"resnet18", "fp16", 24, 2},
                    // A rate that evaluations decide; masters; frozen layers.
                    Bed{"plateau", "fp16", 60, 10}, Bed{"half", "bf16", 60, 10},
                    Bed{"frozen", "fp32", 60, 10}),
    [](const testing::TestParamInfo<Bed>& info) {
      return absl::StrCat(info.param.workload, "_", info.param.precision);
    });

}  // namespace
}  // namespace reprise::conformance
