// A LibTorch trainer of one linear layer that borrows Reprise's optimizer and
// gradient scaler, and saves their state with its own.
//
//   torch_trainer RUN_FOLDER STEPS
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "format/checkpoint_store.h"
#include "format/v2/items.h"
#include "format/version.h"
#include "trainer/amp/grad_scaler.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/optim/optimizer.h"

int main(int argc, char** argv) {
  if (argc != 3) return reprise::ExitCode::EXIT_USAGE;
  reprise::CheckpointStore::Options options;
  options.format_major = reprise::kV2Major;
  auto store = reprise::CheckpointStore::Open(argv[1], options);
  if (!store.ok()) return std::puts(store.status().ToString().c_str()), 2;
  auto newest = (*store)->NewestVerified();
  if (!newest.ok()) return std::puts(newest.status().ToString().c_str()), 11;

  at::set_num_threads(1);
  const at::Tensor inputs = at::linspace(-1, 1, 32).view({8, 4});  // [B, I]
  const at::Tensor targets = inputs.sum(1, true);                  // [B, 1]
  at::Tensor weight = at::zeros({1, 4}).requires_grad_(true);      // [1, I]
  reprise::Optimizer::Group group;
  group.name = "all";
  group.parameters = {{"weight", weight}};
  group.lr = group.base_lr = 0.05;
  auto optimizer = *reprise::Optimizer::Create("adamw", {group});
  reprise::amp::GradScaler scaler({.growth_interval = 3}, at::kCPU);

  reprise::Snapshot state;
  state.run_id = std::string(32, '2');
  state.attempt = 1;
  if (newest->checkpoint.has_value()) {
    state = newest->checkpoint->snapshot;
    auto restored = reprise::CopyInto(state.parameters[0], weight);
    restored.Update(optimizer->Load(*state.optimizer));
    restored.Update(scaler.Load(*state.scaler));
    if (!restored.ok()) return std::puts(restored.ToString().c_str()), 11;
    std::printf("goes on at step %d, scale %g\n", static_cast<int>(state.step),
                scaler.scale());
  }
  const uint64_t last = std::strtoull(argv[2], nullptr, 10);
  float loss_value = 0;
  while (state.step < last) {
    optimizer->ZeroGrad();
    const at::Tensor loss = at::mse_loss(at::linear(inputs, weight), targets);
    scaler.Scale(loss).backward();
    if (!scaler.Unscale({weight}).ok()) return 12;
    if (!scaler.found_inf()) optimizer->Step();
    scaler.Update();
    loss_value = loss.item<float>();
    ++state.step;

    for (reprise::Item item : reprise::ItemsOfV2()) {
      state.MarkNotApplicable(item, "this small trainer has none");
    }
    state.architecture = "linear";
    state.initialisation = "zeros";
    state.parameters = {reprise::ViewOf("weight", weight)};
    state.optimizer = optimizer->state();
    state.scaler = scaler.state();
    for (reprise::Item item :
         {reprise::Item::MODEL_PARAMS, reprise::Item::COUNTERS_STEP,
          reprise::Item::OPTIM_KIND, reprise::Item::OPTIM_GROUPS,
          reprise::Item::OPTIM_MOMENTS, reprise::Item::OPTIM_STEP,
          reprise::Item::OPTIM_IDENTITY, reprise::Item::SCHED_BASE,
          reprise::Item::SCHED_APPLIED, reprise::Item::SCALER_SCALE,
          reprise::Item::SCALER_GROWTH_TRACKER, reprise::Item::SCALER_CONFIG}) {
      state.MarkSaved(item);
    }
    auto saved = (*store)->Save(state);
    if (!saved.ok()) return std::puts(saved.status().ToString().c_str()), 14;
    if (auto s = (*store)->Prune(); !s.ok()) return 14;
  }
  std::printf("step %d loss %.9g scale %g\n", static_cast<int>(state.step),
              loss_value, scaler.scale());
  return reprise::ExitCode::EXIT_DONE;
}
