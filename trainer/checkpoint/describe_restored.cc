// Says what was restored, item by item, for people.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/train_state_codec.h"

namespace reprise {
namespace {

std::string ConfigValue(const Snapshot& s, absl::string_view path) {
  for (const ConfigField& field : s.config) {
    if (field.path == path) return field.value;
  }
  return "";
}

// The value of `item` in one line; empty for an item that has none.
std::string Describe(const Snapshot& s, Item item) {
  const OptimizerState& optim = *s.optimizer;
  switch (item) {
    case Item::MODEL_PARAMS:
    case Item::MODEL_BUFFERS: {
      const auto& tensors =
          item == Item::MODEL_PARAMS ? s.parameters : s.buffers;
      int64_t elements = 0;
      for (const Tensor& t : tensors) elements += t.num_elements();
      return absl::StrFormat("%d tensors, %d elements", tensors.size(),
                             elements);
    }
    case Item::OPTIM_KIND:
      return absl::StrCat(optim.kind, " (", optim.arithmetic, ")");
    case Item::OPTIM_GROUPS:
      return absl::StrJoin(
          optim.groups, ", ", [](std::string* out, const ParameterGroup& g) {
            absl::StrAppend(out, g.name, ": ", g.parameters.size(),
                            " parameters, decay ", g.weight_decay);
          });
    case Item::OPTIM_MOMENTS:
      return absl::StrCat("of ", optim.states.size(), " parameters");
    case Item::OPTIM_STEP:
      return optim.states.empty() ? "0" : absl::StrCat(optim.states[0].step);
    case Item::MODE:
      return "training";
    case Item::OPTIM_IDENTITY:
      return "state belongs to parameter names";
    case Item::SCHED_DEFINITION:
      return absl::StrFormat("%s, warm-up %d, final fraction %g",
                             s.schedule->form, s.schedule->warmup,
                             s.schedule->final_fraction);
    case Item::SCHED_UNIT:
      return "applied steps";
    case Item::SCHED_HORIZON:
      return absl::StrCat(s.schedule->horizon);
    case Item::SCHED_BASE:
      return absl::StrJoin(optim.groups, ", ",
                           [](std::string* out, const ParameterGroup& g) {
                             absl::StrAppend(out, "lr ", g.base_lr);
                           });
    case Item::SCHED_POSITION:
      return absl::StrFormat("%d of %d applied steps", s.schedule->position,
                             s.schedule->horizon);
    case Item::SCHED_APPLIED:
      return absl::StrJoin(optim.groups, ", ",
                           [](std::string* out, const ParameterGroup& g) {
                             absl::StrAppend(out, "lr ", g.lr);
                           });
    case Item::SCALER_SCALE:
      return s.scaler ? absl::StrCat(s.scaler->scale) : "";
    case Item::SCALER_GROWTH_TRACKER:
      return s.scaler ? absl::StrFormat("%d of %d", s.scaler->growth_tracker,
                                        s.scaler->growth_interval)
                      : "";
    case Item::SCALER_CONFIG:
      return s.scaler ? absl::StrFormat("growth %g, backoff %g",
                                        s.scaler->growth_factor,
                                        s.scaler->backoff_factor)
                      : "";
    case Item::SAMPLER_ALGORITHM:
      return s.sampler->algorithm;
    case Item::SAMPLER_SEED:
      return absl::StrCat(s.sampler->seed);
    case Item::SAMPLER_ORDER:
      return "a function of seed and epoch";
    case Item::DATA_BATCH:
      return absl::StrFormat("%d of %d samples", s.sampler->batch_size,
                             s.sampler->dataset_size);
    case Item::SAMPLER_CURSOR: {
      const uint64_t per_epoch =
          s.sampler->dataset_size / s.sampler->batch_size;
      const uint64_t batches = s.sampler->cursor / s.sampler->batch_size;
      return absl::StrFormat("epoch %d, batch %d of %d", batches / per_epoch,
                             batches % per_epoch, per_epoch);
    }
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
      for (const GeneratorState& g : s.generators) {
        if ((g.name == "cpu") == (item == Item::RNG_CPU)) {
          return absl::StrFormat("%s, %d bytes", g.algorithm, g.state.size());
        }
      }
      return "";
    case Item::CLIP:
      return ConfigValue(s, "optimizer.clip_norm");
    case Item::PRECISION_FLAGS:
      return absl::StrCat("autocast ", s.environment->autocast_dtype,
                          s.environment->deterministic ? ", deterministic" : "",
                          s.environment->allow_tf32 ? ", TF32" : "");
    case Item::COUNTERS_STEP:
      return absl::StrFormat("%d attempted, %d skipped", s.step,
                             s.step - s.schedule->position);
    case Item::CONFIG:
      return absl::StrCat(s.config.size(), " fields");
    case Item::ENVIRONMENT:
      return absl::StrFormat("%s, %d threads", s.environment->device,
                             s.environment->threads);
    default:
      return "";
  }
}

}  // namespace

std::vector<RestoredItem> DescribeRestored(const Snapshot& snapshot) {
  std::vector<RestoredItem> rows;
  for (const ItemRecord& record : snapshot.inventory) {
    std::string value = Describe(snapshot, record.item);
    if (!record.reason.empty()) value = record.reason;
    rows.push_back({TextOf(record.item), TextOf(record.presence), value});
  }
  return rows;
}

}  // namespace reprise
