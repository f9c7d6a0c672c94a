// Every model, in every precision, with every family of optimizers, killed and
// resumed with all features on: dropout, batch norm or a tied embedding,
// accumulation with checkpoints inside a step, an average of the weights,
// clipping, a gradient scaler that overflows, masters of half-precision
// parameters, a rate that evaluations decide, early stop and best, batches
// drawn ahead, saves behind training. Every record and the whole last
// checkpoint must be those of the uninterrupted run, bit for bit.
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/testing/kill_and_resume.h"
#include "trainer/testing/small_run.h"

namespace reprise {
namespace {

constexpr uint64_t kSteps = 12;

using Family = std::tuple<std::string, std::string, std::string>;

std::vector<std::string> Flags(const std::string& folder,
                               const Family& family) {
  const auto& [model, precision, optimizer] = family;
  std::vector<std::string> flags = {
      absl::StrCat("--steps=", kSteps),
      "--save_every=3",
      "--set=run.eval_every=4",
      "--set=schedule.warmup=2",
      "--set=schedule.form=plateau-v1",
      "--set=schedule.patience=0",
      "--set=schedule.threshold=0.5",
      "--set=precision.scaler=true",
      "--set=precision.growth_interval=2",
      "--set=accumulation.steps=2",
      "--set=save.at_micro=1",
      "--set=save.background=true",
      "--set=ema.decay=0.9",
      "--set=best.metric=ema/loss",
      "--set=best.patience=100",
      "--set=data.workers=2",
      "--set=data.batch_size=4",
      "--set=data.train_limit=50",
      "--set=data.test_limit=8",
      "--set=model.kind=" + model,
      "--set=optimizer.kind=" + optimizer,
  };
  // Masters of what is kept in half precision.
  if (precision != "fp32") flags.push_back("--set=model.dtype=" + precision);
  if (model == "gpt") {
    for (const char* flag :
         {"--set=data.name=text", "--set=data.sequence_length=16",
          "--set=data.augment=false", "--set=model.layers=2",
          "--set=model.heads=2", "--set=data.tail=span"}) {
      flags.push_back(flag);
    }
  } else if (model == "resnet18") {
    flags.push_back("--set=data.synthetic_size=32");
    // At the paper's width with one optimizer, in every precision: 134 MB a
    // checkpoint. The parts of the state are the same at any width.
    if (optimizer != "adamw") flags.push_back("--set=model.width=8");
  } else {
    flags.push_back("--set=data.synthetic_size=12");
  }
  return SmallRunFlags(folder, precision, flags);
}

class EveryFamily : public ::testing::TestWithParam<Family> {};

TEST_P(EveryFamily, KilledAndResumedIsTheUninterruptedRun) {
  // Once a save inside a step is over for sure and another is on its way.
  ExpectKilledIsUninterrupted(
      [](const std::string& folder) { return Flags(folder, GetParam()); },
      {StepPoint::kAfterUpdate, 7});
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryFamily,
    ::testing::Combine(::testing::Values("mlp", "convnet", "resnet18", "gpt"),
                       ::testing::Values("fp32", "bf16", "fp16"),
                       ::testing::Values("adamw", "adam", "sgd")),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param), "_", std::get<1>(info.param),
                          "_", std::get<2>(info.param));
    });

}  // namespace
}  // namespace reprise
