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
                  absl::StrJoin(tensor.shape(), ","), "]", tensor.bytes());
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

// The value of `item` as text; scalars short enough to be shown.
struct Value {
  std::string text;
  bool scalar = true;
};

Value ValueOf(const Snapshot& s, Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
      return {DigestOf(s.parameters), false};
    case Item::MODEL_BUFFERS:
      return {DigestOf(s.buffers), false};
    case Item::OPTIM_KIND:
      return {absl::StrCat(s.optimizer->kind, " ", s.optimizer->arithmetic)};
    case Item::OPTIM_GROUPS:
      return {Groups(*s.optimizer, /*applied=*/false), false};
    case Item::OPTIM_MOMENTS: {
      std::string bytes;
      for (const ParameterState& state : s.optimizer->states) {
        absl::StrAppend(&bytes, state.parameter, ";");
        for (const Tensor& moment : state.moments) {
          AppendTensor(moment, &bytes);
        }
      }
      return {std::move(bytes), false};
    }
    case Item::OPTIM_STEP: {
      // One number while all parameters agree, which is the rule.
      std::string steps;
      bool same = true;
      for (const ParameterState& state : s.optimizer->states) {
        absl::StrAppend(&steps, state.parameter, "=", state.step, ";");
        same = same && state.step == s.optimizer->states[0].step;
      }
      if (same && !s.optimizer->states.empty()) {
        return {absl::StrCat(s.optimizer->states[0].step)};
      }
      return {std::move(steps), false};
    }
    case Item::OPTIM_IDENTITY:
      return {absl::StrJoin(s.optimizer->groups, ";",
                            [](std::string* out, const ParameterGroup& g) {
                              absl::StrAppend(out,
                                              absl::StrJoin(g.parameters, ","));
                            }),
              false};
    case Item::SCHED_DEFINITION:
      return {absl::StrCat(s.schedule->form, " warmup=", s.schedule->warmup,
                           " final=", Exact(s.schedule->final_fraction)),
              false};
    case Item::SCHED_POSITION:
      return {absl::StrCat(s.schedule->position)};
    case Item::SCHED_UNIT:
      return {absl::StrCat(static_cast<int>(s.schedule->unit))};
    case Item::SCHED_HORIZON:
      return {absl::StrCat(s.schedule->horizon)};
    case Item::SCHED_BASE:
      return {Exact(s.optimizer->groups[0].base_lr)};
    case Item::SCHED_APPLIED:
      return {Groups(*s.optimizer, /*applied=*/true), false};
    case Item::SCALER_SCALE:
      return {Exact(s.scaler->scale)};
    case Item::SCALER_GROWTH_TRACKER:
      return {absl::StrCat(s.scaler->growth_tracker)};
    case Item::SCALER_CONFIG:
      return {absl::StrCat(Exact(s.scaler->growth_factor), " ",
                           Exact(s.scaler->backoff_factor), " ",
                           s.scaler->growth_interval),
              false};
    case Item::SAMPLER_ALGORITHM:
      return {s.sampler->algorithm, false};
    case Item::SAMPLER_SEED:
      return {absl::StrCat(s.sampler->seed)};
    case Item::SAMPLER_CURSOR:
      return {absl::StrCat(s.sampler->cursor)};
    case Item::SAMPLER_ORDER:
      return {absl::StrCat(s.sampler->algorithm, " ", s.sampler->seed), false};
    case Item::DATA_BATCH:
      return {absl::StrCat(s.sampler->batch_size)};
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
      for (const GeneratorState& g : s.generators) {
        if ((g.name == "cpu") == (item == Item::RNG_CPU)) {
          return {g.state, false};
        }
      }
      return {};
    case Item::PRECISION_FLAGS:
      return {absl::StrCat(s.environment->autocast_dtype, " ",
                           s.environment->deterministic, " ",
                           s.environment->allow_tf32),
              false};
    case Item::COUNTERS_STEP:
      return {absl::StrCat(s.step)};
    case Item::CLIP:
      for (const ConfigField& field : s.config) {
        if (field.path == "optimizer.clip_norm") return {field.value};
      }
      return {};
    default:
      return {};
  }
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
