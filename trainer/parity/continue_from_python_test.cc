// A file that Python's torch.save wrote in the middle of a run, {model,
// optimizer, scheduler, scaler, step}, is imported and gone on with: the losses
// are those of Python's own next steps.
#include <ATen/ops/arange.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/interop/import_snapshot.h"
#include "gtest/gtest.h"
#include "trainer/amp/autocast.h"
#include "trainer/amp/grad_scaler.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/model/loss.h"
#include "trainer/model/model.h"
#include "trainer/optim/optimizer.h"
#include "trainer/parity/fixture.h"
#include "trainer/schedule/schedule.h"

namespace reprise {
namespace {

// Bazel lays a link, and links are refused.
std::string RealPath(const char* path) {
  char* real = realpath(path, nullptr);
  const std::string result = real != nullptr ? real : path;
  free(real);
  return result;
}

void Load(const std::vector<Tensor>& saved,
          const std::vector<NamedTensor>& live) {
  ASSERT_EQ(saved.size(), live.size());
  for (const NamedTensor& tensor : live) {
    bool found = false;
    for (const Tensor& from : saved) {
      if (from.name() != tensor.name) continue;
      ASSERT_TRUE(CopyInto(from, tensor.tensor).ok()) << tensor.name;
      found = true;
    }
    ASSERT_TRUE(found) << tensor.name;
  }
}

TEST(ContinueFromPython, TheNextLossesAreThoseOfPythonItself) {
  const auto file = ReadTorchFile(
      FileSystem::Real(),
      RealPath("trainer/parity/fixtures/continue_from_python.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  ImportOptions import;
  import.group_names = {"decay", "no_decay"};
  import.schedule_unit = "applied";
  const auto imported = ImportTorch(*file, import);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot& snapshot = imported->snapshot;

  ModelOptions options;
  options.kind = "mlp";
  options.hidden = 8;
  options.height = options.width = 4;
  auto model = MakeModel(options);
  ASSERT_TRUE(model.ok()) << model.status();
  Load(snapshot.parameters, (*model)->Parameters());
  Load(snapshot.buffers, (*model)->Buffers());
  auto optimizer =
      Optimizer::Create("adamw", GroupsByRank((*model)->Parameters(), {}));
  ASSERT_TRUE(optimizer.ok()) << optimizer.status();
  const absl::Status loaded = (*optimizer)->Load(*snapshot.optimizer);
  ASSERT_TRUE(loaded.ok()) << loaded;
  amp::GradScaler scaler({}, at::kCPU);
  ASSERT_TRUE(scaler.Load(*snapshot.scaler).ok());
  Schedule::Definition definition;
  definition.form = std::string(kStepV1);
  definition.horizon = 1000;
  definition.parameters = {{"gamma", 0.5}, {"step_size", 3}};
  const auto schedule = Schedule::Create(definition);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  uint64_t position = snapshot.schedule->position;
  // What the file has in force is what its position comes to.
  EXPECT_EQ((*optimizer)->groups()[0].lr,
            (*optimizer)->groups()[0].base_lr *
                schedule->Fraction(position, std::nullopt));

  std::vector<at::Tensor> parameters;
  for (const NamedTensor& p : (*model)->Parameters()) {
    parameters.push_back(p.tensor);
  }
  uint64_t compared = 0, worst = 0;
  for (const Words& words : ReadFixture("continue_from_python.txt")) {
    const uint64_t step = std::stoull(words[0]);
    if (step <= snapshot.step) continue;
    (*optimizer)->ZeroGrad();
    at::Tensor loss;
    {
      const amp::Autocast autocast(at::kCPU, at::kHalf);
      loss = MeanLoss((*model)->Forward(FixedValues(
                          {8, 1, 4, 4}, static_cast<uint32_t>(step))),
                      at::arange(8));
    }
    worst = std::max(worst, UlpDistance(loss.item<float>(), F32(words[1])));
    if (step == snapshot.step + 1) {
      EXPECT_EQ(worst, 0) << "the first loss after the import, of Python's "
                          << words[1];
    }
    scaler.Scale(loss).backward();
    ASSERT_TRUE(scaler.Unscale(parameters).ok());
    if (!scaler.found_inf()) {
      (*optimizer)->Step();
      ++position;
    }
    scaler.Update();
    EXPECT_EQ(scaler.scale(), F32(words[2])) << "after step " << step;
    (*optimizer)
        ->ApplySchedule(schedule->Fraction(position, std::nullopt),
                        std::nullopt);
    ++compared;
  }
  EXPECT_EQ(compared, 5);
  // Another CPU has other kernels; on the one of the fixture it is 0.
  EXPECT_LE(worst, 64) << "units in the last place of a loss";
  std::cout << compared << " losses, at most " << worst << " ulp apart\n";
}

}  // namespace
}  // namespace reprise
