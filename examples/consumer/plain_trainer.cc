// Gradient descent on one number, without any framework: finds the square root
// of two, one step at a time, and goes on after whatever stops it.
//
//   plain_trainer RUN_FOLDER STEPS
#include <cstdio>
#include <cstdlib>
#include <string>

#include "format/checkpoint_store.h"
#include "format/v2/items.h"
#include "format/version.h"

int main(int argc, char** argv) {
  if (argc != 3) return reprise::ExitCode::EXIT_USAGE;
  reprise::CheckpointStore::Options options;
  options.format_major = reprise::kV2Major;
  auto store = reprise::CheckpointStore::Open(argv[1], options);
  if (!store.ok()) return std::puts(store.status().ToString().c_str()), 2;
  auto newest = (*store)->NewestVerified();
  if (!newest.ok()) return std::puts(newest.status().ToString().c_str()), 11;

  double x = 1;
  reprise::Snapshot state;
  state.run_id = std::string(32, '1');
  state.attempt = 1;
  if (newest->checkpoint.has_value()) {
    state = newest->checkpoint->snapshot;
    x = *static_cast<const double*>(state.parameters[0].data());
    std::printf("goes on at step %d with x = %.17g\n",
                static_cast<int>(state.step), x);
  }
  const uint64_t last = std::strtoull(argv[2], nullptr, 10);
  while (state.step < last) {
    x -= 0.1 * (x * x - 2) * x;
    ++state.step;
    // Every item of the inventory: saved, or why there is none.
    for (reprise::Item item : reprise::ItemsOfV2()) {
      state.MarkNotApplicable(item, "plain gradient descent has none");
    }
    state.parameters = {
        reprise::Tensor::View("x", reprise::DType::kF64, {}, &x)};
    state.architecture = "one number";
    state.initialisation = "one";
    state.MarkSaved(reprise::Item::MODEL_PARAMS);
    state.MarkSaved(reprise::Item::COUNTERS_STEP);
    auto saved = (*store)->Save(state);
    if (!saved.ok()) return std::puts(saved.status().ToString().c_str()), 14;
  }
  std::printf("step %d x = %.17g\n", static_cast<int>(state.step), x);
  return reprise::ExitCode::EXIT_DONE;
}
