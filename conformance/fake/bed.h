// The workloads of the fake trainer ("test beds"): every knob of a run.
//
//   absl::StatusOr<Bed> bed = BedFor(request);   // request.workload() "T1",
//   ...
//
// T0  MLP with two hidden layers of one shape, batch norm, dropout on a device
//     generator and noise on the host's; AdamW with two groups; warm-up and
//     cosine; fp16 with a loss scaler; EMA with a ramp; clip 1.0; batch 10 of
//     1,000 samples, 300 steps, three epochs
// T1  T0 with accumulation 4: 75 steps
// T2  token model whose output layer is tied to the embedding
// T3  T0 in fp32 on the host alone: overflow only where it is injected
// T0.sgd      SGD with momentum       T0.plateau  rate falls on a plateau of
// the T0.half     half parameters with               evaluation loss; early
// stop
//             fp32 masters            T0.frozen   first layer frozen at step 50
//
// A request overrides steps, save_every, seed, accumulation, precision and, by
// `settings`, any knob listed in SettingNames(). Thread-safe.
#ifndef REPRISE_CONFORMANCE_FAKE_BED_H_
#define REPRISE_CONFORMANCE_FAKE_BED_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/protocol/messages.h"

namespace reprise::conformance::fake {

struct Bed {
  std::string workload;
  // "mlp" or "tokens".
  std::string model = "mlp";
  bool device = true;
  std::string precision = "fp16";
  bool half_parameters = false;
  std::string optimizer = "adamw";
  std::string schedule = "warmup-cosine";
  std::string schedule_unit = "applied";
  uint64_t seed = 1;
  uint64_t steps = 300;  // attempted
  uint64_t warmup = 20;  // units
  uint64_t batch = 10;   // samples of a micro-step
  uint32_t accumulation = 1;
  uint64_t dataset_size = 1000;
  double base_lr = 1e-3;
  double dropout = 0.1;
  double noise = 0.1;  // amplitude added to inputs
  double init_scale = 65536;
  uint32_t growth_interval = 20;
  // Scales above this overflow, whatever the gradients.
  double overflow_above = std::numeric_limits<double>::infinity();
  double clip = 1.0;
  double ema_decay = 0.99;
  uint64_t freeze_at = 0;  // attempted step that freezes the first layer; 0: no
  uint64_t eval_every = 20;
  uint32_t patience = 0;  // early stop, in evaluations; 0: none
  uint32_t plateau_patience = 1;

  // Free to differ between attempts.
  uint64_t save_every = 10;
  uint32_t keep_last = 3;
  // Micro-steps after which a step whose boundary is saved is also saved in
  // the middle of its accumulation; 0: not.
  uint32_t save_at_micro = 0;
  uint64_t step_delay_us = 0;
  uint64_t evaluation_delay_us = 0;
  std::vector<uint64_t> inject_overflow;
};

const std::vector<std::string>& Workloads();
const std::vector<std::string>& SettingNames();

// Errors: Unimplemented for an unknown workload, precision or setting name,
// InvalidArgument for a value outside its range.
absl::StatusOr<Bed> BedFor(const RunRequest& request);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_BED_H_
