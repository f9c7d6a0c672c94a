#include "trainer/testee/item_digests.h"

#include <xxhash.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

namespace v1 = conformance::v1;

std::string Hash(absl::string_view bytes) {
  return absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string Exact(double value) { return absl::StrFormat("%.17g", value); }

void AppendTensor(const Tensor& tensor, std::string* bytes) {
  absl::StrAppend(bytes, tensor.name(), ":", Name(tensor.dtype()), "[",
                  absl::StrJoin(tensor.shape(), ","), "]");
  const size_t begin = bytes->size();
  bytes->resize(begin + tensor.num_bytes());
  // Of one that is staged on a device: waits for it.
  const absl::Status copied =
      tensor.CopyBytes(0, tensor.num_bytes(), bytes->data() + begin);
  // The save says it too.
  if (!copied.ok()) absl::StrAppend(bytes, copied.message());
}

bool OneStorage(const Tensor& a, const Tensor& b) {
  if (!a.storage().has_value() || !b.storage().has_value()) {
    return a.data() == b.data();
  }
  return a.storage()->id == b.storage()->id &&
         a.storage()->offset == b.storage()->offset;
}

std::string Groups(const OptimizerState& optimizer, bool applied) {
  return absl::StrJoin(
      optimizer.groups, ";",
      [applied](std::string* out, const ParameterGroup& g) {
        if (applied) {
          absl::StrAppend(out, Exact(g.lr));
          return;
        }
        absl::StrAppend(out, g.name, " wd=", Exact(g.weight_decay));
        if (g.beta1) {
          absl::StrAppend(out, " betas=", Exact(*g.beta1), ",", Exact(*g.beta2),
                          " eps=", Exact(*g.eps));
        }
        if (g.momentum) {
          absl::StrAppend(out, " momentum=", Exact(*g.momentum),
                          " dampening=", Exact(*g.dampening),
                          " nesterov=", *g.nesterov);
        }
      });
}

std::string Numbers(const std::vector<NamedNumber>& numbers) {
  return absl::StrJoin(numbers, " ",
                       [](std::string* out, const NamedNumber& n) {
                         absl::StrAppend(out, n.name, "=", Exact(n.value));
                       });
}

// The value of `item` as text; scalars short enough to be shown.
struct Value {
  std::string text;
  bool scalar = true;
};

Value Long(std::string text) { return {std::move(text), false}; }

Value OfOptimizer(const OptimizerState& optimizer, Item item) {
  switch (item) {
    case Item::OPTIM_KIND:
      return {absl::StrCat(optimizer.kind, " ", optimizer.arithmetic)};
    case Item::OPTIM_GROUPS:
      return Long(Groups(optimizer, /*applied=*/false));
    case Item::OPTIM_MOMENTS: {
      std::string bytes;
      for (const ParameterState& state : optimizer.states) {
        absl::StrAppend(&bytes, state.parameter, ";");
        for (const Tensor& moment : state.moments) {
          AppendTensor(moment, &bytes);
        }
      }
      return Long(std::move(bytes));
    }
    case Item::OPTIM_STEP: {
      // One number while all parameters agree, which is the rule.
      std::string steps;
      bool same = true;
      for (const ParameterState& state : optimizer.states) {
        absl::StrAppend(&steps, state.parameter, "=", state.step, ";");
        same = same && state.step == optimizer.states[0].step;
      }
      if (same && !optimizer.states.empty()) {
        return {absl::StrCat(optimizer.states[0].step)};
      }
      return Long(std::move(steps));
    }
    case Item::OPTIM_IDENTITY:
      return Long(absl::StrJoin(
          optimizer.groups, ";", [](std::string* out, const ParameterGroup& g) {
            absl::StrAppend(out, absl::StrJoin(g.parameters, ","));
          }));
    case Item::OPTIM_DTYPE:
      return {optimizer.state_dtype ? std::string(Name(*optimizer.state_dtype))
                                    : "none"};
    case Item::SCHED_BASE:
      return Long(absl::StrJoin(optimizer.groups, ";",
                                [](std::string* out, const ParameterGroup& g) {
                                  absl::StrAppend(out, Exact(g.base_lr));
                                }));
    case Item::SCHED_APPLIED:
      return Long(Groups(optimizer, /*applied=*/true));
    default:
      return {};
  }
}

Value OfSchedule(const ScheduleState& schedule, Item item) {
  switch (item) {
    case Item::SCHED_DEFINITION:
      return Long(absl::StrCat(schedule.form, " warmup=", schedule.warmup,
                               " final=", Exact(schedule.final_fraction), " ",
                               Numbers(schedule.parameters)));
    case Item::SCHED_POSITION:
      return {absl::StrCat(schedule.position)};
    case Item::SCHED_UNIT:
      return {absl::StrCat(static_cast<int>(schedule.unit))};
    case Item::SCHED_HORIZON:
      return {absl::StrCat(schedule.horizon)};
    case Item::SCHED_STATE:
      if (!schedule.state) return {};
      return Long(absl::StrCat(
          schedule.state->best ? Exact(*schedule.state->best) : "none", " ",
          schedule.state->bad_count, " ", schedule.state->cooldown, " ",
          Exact(schedule.state->factor)));
    default:
      return {};
  }
}

Value OfScaler(const GradScalerState& scaler, Item item) {
  switch (item) {
    case Item::SCALER_SCALE:
      return {Exact(scaler.scale)};
    case Item::SCALER_GROWTH_TRACKER:
      return {absl::StrCat(scaler.growth_tracker)};
    case Item::SCALER_CONFIG:
      return Long(absl::StrCat(
          Exact(scaler.growth_factor), " ", Exact(scaler.backoff_factor), " ",
          scaler.growth_interval, " ", Exact(scaler.min_scale)));
    default:
      return {};
  }
}

Value OfData(const Snapshot& s, Item item) {
  const SamplerState& sampler = *s.sampler;
  switch (item) {
    case Item::SAMPLER_ALGORITHM:
      return Long(sampler.algorithm);
    case Item::SAMPLER_SEED:
      return {absl::StrCat(sampler.seed)};
    case Item::SAMPLER_CURSOR:
      return {absl::StrCat(sampler.cursor)};
    case Item::SAMPLER_ORDER:
      return Long(absl::StrCat(sampler.algorithm, " ", sampler.seed, " ",
                               sampler.dataset_size));
    case Item::DATA_FINGERPRINT:
      return Long(
          absl::StrCat(s.fingerprint->algorithm, s.fingerprint->digest));
    case Item::DATA_BATCH:
      return {absl::StrCat(sampler.batch_size, " tail ",
                           static_cast<int>(sampler.tail))};
    case Item::LOADER_INFLIGHT:
      return Long(
          absl::StrCat("in flight: ", absl::StrJoin(sampler.in_flight, ",")));
    case Item::RNG_DATA:
      return Long(
          absl::StrCat(sampler.stream_algorithm, " ", sampler.augmentation));
    default:
      return {};
  }
}

Value OfModel(const Snapshot& s, Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
      return Long(DigestOf(s.parameters));
    case Item::MODEL_BUFFERS:
      return Long(DigestOf(s.buffers));
    case Item::MODEL_TIES: {
      std::string ties = "ties: ";
      for (size_t i = 0; i < s.parameters.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (!OneStorage(s.parameters[i], s.parameters[j])) continue;
          absl::StrAppend(&ties, s.parameters[j].name(), "=",
                          s.parameters[i].name(), ";");
        }
      }
      return Long(std::move(ties));
    }
    case Item::FROZEN_FLAGS:
      return Long(absl::StrCat("frozen: ", absl::StrJoin(*s.frozen, ",")));
    case Item::MODE:
      return {s.mode->training ? "training" : "evaluation"};
    case Item::MASTER:
      return Long(DigestOf(s.masters));
    case Item::ACCUM_GRADS:
      return Long(DigestOf(s.gradients));
    case Item::EMA_WEIGHTS:
      return Long(DigestOf(s.ema_weights));
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
      for (const GeneratorState& g : s.generators) {
        if ((g.name == "cpu") == (item == Item::RNG_CPU)) return Long(g.state);
      }
      return {};
    default:
      return {};
  }
}

Value OfProgress(const Snapshot& s, Item item) {
  switch (item) {
    case Item::ACCUM_COUNT:
      return {absl::StrCat(s.accumulation->count)};
    case Item::EMA_UPDATES:
      return {absl::StrCat(s.ema->updates)};
    case Item::EMA_CONFIG:
      return Long(absl::StrCat(Exact(s.ema->decay), " ", s.ema->ramp));
    case Item::CLIP:
      return {absl::StrCat(static_cast<int>(s.clip->kind), " ",
                           Exact(s.clip->limit))};
    case Item::PRECISION_FLAGS:
      return Long(absl::StrCat(s.environment->autocast_dtype, " ",
                               s.environment->deterministic, " ",
                               s.environment->allow_tf32));
    case Item::COUNTERS_STEP:
      return {absl::StrCat(s.step)};
    case Item::COUNTERS_APPLIED:
      return {absl::StrCat(s.counters->applied)};
    case Item::COUNTERS_SKIPPED:
      return {absl::StrCat(s.counters->skipped)};
    case Item::COUNTERS_SAMPLES:
      return {absl::StrCat(s.counters->samples)};
    case Item::EVAL:
      return Long(
          absl::StrCat(s.evaluation->pending, " ",
                       s.evaluation->last
                           ? absl::StrCat(s.evaluation->last->step, " ",
                                          Numbers(s.evaluation->last->metrics))
                           : "none"));
    case Item::BEST:
      if (!s.best) return {};
      return Long(absl::StrCat(s.best->metric, " ", Exact(s.best->value),
                               " of ", s.best->step));
    case Item::EARLY_STOP:
      return Long(absl::StrCat(
          s.early_stop->patience, " ", Exact(s.early_stop->min_delta), " ",
          s.early_stop->bad_count, " ",
          s.early_stop->best ? Exact(*s.early_stop->best) : "none"));
    default:
      return {};
  }
}

Value ValueOf(const Snapshot& s, Item item) {
  Value value = OfModel(s, item);
  if (value.text.empty()) value = OfOptimizer(*s.optimizer, item);
  if (value.text.empty()) value = OfSchedule(*s.schedule, item);
  if (value.text.empty() && s.scaler) value = OfScaler(*s.scaler, item);
  if (value.text.empty()) value = OfData(s, item);
  if (value.text.empty()) value = OfProgress(s, item);
  return value;
}

}  // namespace

std::string DigestOf(const std::vector<Tensor>& tensors) {
  std::string bytes;
  for (const Tensor& tensor : tensors) AppendTensor(tensor, &bytes);
  return Hash(bytes);
}

std::vector<v1::ItemDigest> DigestItems(const Snapshot& snapshot) {
  std::vector<v1::ItemDigest> digests;
  for (const ItemRecord& record : snapshot.inventory) {
    if (record.presence != Presence::PRESENCE_SAVED &&
        record.presence != Presence::PRESENCE_EMPTY) {
      continue;
    }
    const Value value = ValueOf(snapshot, record.item);
    if (value.text.empty() && record.presence == Presence::PRESENCE_SAVED) {
      continue;  // an item without a value of its own
    }
    v1::ItemDigest digest;
    digest.set_item(record.item);
    digest.set_digest(Hash(value.text));
    if (value.scalar) digest.set_value(value.text);
    digest.set_as_of_step(record.as_of_step);
    digests.push_back(std::move(digest));
  }
  return digests;
}

}  // namespace reprise
