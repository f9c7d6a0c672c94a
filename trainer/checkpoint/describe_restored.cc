// Says what was restored, item by item, for people.
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/ties.h"
#include "trainer/checkpoint/train_state_codec.h"

namespace reprise {
namespace {

std::string ConfigValue(const Snapshot& s, absl::string_view path) {
  for (const ConfigField& field : s.config) {
    if (field.path == path) return field.value;
  }
  return "";
}

std::string DescribeTensors(const std::vector<Tensor>& tensors) {
  int64_t elements = 0;
  for (const Tensor& t : tensors) elements += t.num_elements();
  return absl::StrFormat("%d tensors, %d elements", tensors.size(), elements);
}

std::string Numbers(const std::vector<NamedNumber>& numbers) {
  return absl::StrJoin(numbers, ", ",
                       [](std::string* out, const NamedNumber& n) {
                         absl::StrAppend(out, n.name, " ", n.value);
                       });
}

std::string DescribeOptimizer(const OptimizerState& optim, Item item) {
  using Group = ParameterGroup;
  switch (item) {
    case Item::OPTIM_KIND:
      return absl::StrCat(optim.kind, " (", optim.arithmetic, ")");
    case Item::OPTIM_GROUPS:
      return absl::StrJoin(
          optim.groups, ", ", [](std::string* out, const Group& g) {
            absl::StrAppend(out, g.name, ": ", g.parameters.size(),
                            " parameters, decay ", g.weight_decay);
          });
    case Item::OPTIM_MOMENTS: {
      int with = 0;
      for (const ParameterState& s : optim.states) with += !s.moments.empty();
      return absl::StrCat("of ", with, " parameters");
    }
    case Item::OPTIM_STEP:
      return optim.states.empty() ? "0" : absl::StrCat(optim.states[0].step);
    case Item::OPTIM_IDENTITY:
      return "state belongs to parameter names";
    case Item::OPTIM_DTYPE:
      return optim.state_dtype ? std::string(Name(*optim.state_dtype)) : "";
    case Item::SCHED_BASE:
      return absl::StrJoin(optim.groups, ", ",
                           [](std::string* out, const Group& g) {
                             absl::StrAppend(out, "lr ", g.base_lr);
                           });
    case Item::SCHED_APPLIED:
      return absl::StrJoin(optim.groups, ", ",
                           [](std::string* out, const Group& g) {
                             absl::StrAppend(out, "lr ", g.lr);
                           });
    default:
      return "";
  }
}

std::string DescribeSchedule(const ScheduleState& sched, Item item) {
  static constexpr const char* kUnits[] = {
      "?", "applied steps", "attempted steps", "samples", "epochs"};
  const char* unit = kUnits[static_cast<int>(sched.unit)];
  switch (item) {
    case Item::SCHED_DEFINITION:
      return absl::StrFormat("%s, warm-up %d, final fraction %g%s%s",
                             sched.form, sched.warmup, sched.final_fraction,
                             sched.parameters.empty() ? "" : ", ",
                             Numbers(sched.parameters));
    case Item::SCHED_UNIT:
      return unit;
    case Item::SCHED_HORIZON:
      return absl::StrCat(sched.horizon);
    case Item::SCHED_POSITION:
      return absl::StrFormat("%d of %d %s", sched.position, sched.horizon,
                             unit);
    case Item::SCHED_STATE:
      return !sched.state
                 ? ""
                 : absl::StrFormat("%d bad evaluations, factor %g",
                                   sched.state->bad_count, sched.state->factor);
    default:
      return "";
  }
}

std::string DescribeScaler(const GradScalerState& scaler, Item item) {
  switch (item) {
    case Item::SCALER_SCALE:
      return absl::StrCat(scaler.scale);
    case Item::SCALER_GROWTH_TRACKER:
      return absl::StrFormat("%d of %d", scaler.growth_tracker,
                             scaler.growth_interval);
    case Item::SCALER_CONFIG:
      return absl::StrFormat("growth %g, backoff %g", scaler.growth_factor,
                             scaler.backoff_factor);
    default:
      return "";
  }
}

std::string DescribeSampler(const SamplerState& sampler, Item item) {
  switch (item) {
    case Item::SAMPLER_ALGORITHM:
      return sampler.algorithm;
    case Item::SAMPLER_SEED:
      return absl::StrCat(sampler.seed);
    case Item::SAMPLER_ORDER:
      return "a function of seed and epoch";
    case Item::DATA_BATCH:
      return absl::StrFormat("%d of %d samples", sampler.batch_size,
                             sampler.dataset_size);
    case Item::RNG_DATA:
      return absl::StrCat(sampler.stream_algorithm,
                          sampler.augmentation.empty() ? "" : ", ",
                          sampler.augmentation);
    case Item::SAMPLER_CURSOR: {
      const uint64_t epoch =
          sampler.tail == SamplerState::Tail::kDrop
              ? sampler.dataset_size / sampler.batch_size * sampler.batch_size
              : sampler.dataset_size;
      return absl::StrFormat("%d samples: epoch %d, sample %d of %d",
                             sampler.cursor, sampler.cursor / epoch,
                             sampler.cursor % epoch, epoch);
    }
    default:
      return "";
  }
}

std::string DescribeEvaluations(const Snapshot& s, Item item) {
  switch (item) {
    case Item::EVAL:
      return absl::StrCat(
          s.evaluation->pending ? "pending; " : "", "last ",
          !s.evaluation->last
              ? "none"
              : absl::StrCat("of step ", s.evaluation->last->step, ": ",
                             Numbers(s.evaluation->last->metrics)));
    case Item::BEST:
      return !s.best ? ""
                     : absl::StrCat(s.best->metric, " ", s.best->value,
                                    " of step ", s.best->step);
    case Item::EARLY_STOP:
      return absl::StrFormat("%d of %d evaluations without improvement",
                             s.early_stop->bad_count, s.early_stop->patience);
    default:
      return "";
  }
}

std::string DescribeProgress(const Snapshot& s, Item item) {
  switch (item) {
    case Item::ACCUM_COUNT:
      return absl::StrFormat("%d of %d micro-steps", s.accumulation->count,
                             s.accumulation->per_step);
    case Item::EMA_UPDATES:
      return absl::StrCat(s.ema->updates);
    case Item::EMA_CONFIG:
      return absl::StrCat("decay ", s.ema->decay,
                          s.ema->ramp.empty() ? "" : ", ", s.ema->ramp);
    case Item::CLIP:
      if (!s.clip) return ConfigValue(s, "optimizer.clip_norm");
      return absl::StrCat(
          s.clip->kind == ClipState::Kind::kNorm ? "norm " : "value ",
          s.clip->limit);
    case Item::COUNTERS_STEP:
      return absl::StrFormat("%d attempted", s.step);
    case Item::COUNTERS_APPLIED:
      return absl::StrCat(s.counters->applied);
    case Item::COUNTERS_SKIPPED:
      return absl::StrCat(s.counters->skipped);
    case Item::COUNTERS_SAMPLES:
      return absl::StrCat(s.counters->samples);
    default:
      return "";
  }
}

std::string DescribeRun(const Snapshot& s, Item item) {
  switch (item) {
    case Item::PRECISION_FLAGS:
      return absl::StrCat("autocast ", s.environment->autocast_dtype,
                          s.environment->deterministic ? ", deterministic" : "",
                          s.environment->allow_tf32 ? ", TF32" : "");
    case Item::CONFIG:
      return absl::StrCat(s.config.size(), " fields");
    case Item::ENVIRONMENT:
      return absl::StrFormat(
          "%s, %d threads, kernels %s", s.environment->device,
          s.environment->threads,
          absl::BytesToHexString(s.environment->kernel_probe.substr(0, 4)));
    case Item::DATA_FINGERPRINT:
      return absl::StrCat(
          absl::BytesToHexString(s.fingerprint->digest.substr(0, 4)), " of ",
          s.fingerprint->samples, " samples");
    case Item::WITNESS:
      return "checked again before the first step";
    case Item::USER:
      return absl::StrCat(s.user.size(), " values, ", s.user_tensors.size(),
                          " tensors");
    default:
      return "";
  }
}

std::string DescribeModel(const Snapshot& s, Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
      return DescribeTensors(s.parameters);
    case Item::MODEL_BUFFERS:
      return DescribeTensors(s.buffers);
    case Item::MASTER:
      return DescribeTensors(s.masters);
    case Item::ACCUM_GRADS:
      return DescribeTensors(s.gradients);
    case Item::EMA_WEIGHTS:
      return DescribeTensors(s.ema_weights);
    case Item::MODEL_TIES:
      return absl::StrJoin(TiesOf(s.parameters), "; ",
                           [](std::string* out, const auto& names) {
                             out->append(absl::StrJoin(names, " = "));
                           });
    case Item::FROZEN_FLAGS:
      return absl::StrCat(s.frozen ? s.frozen->size() : 0, " of ",
                          s.parameters.size(), " parameters frozen");
    case Item::MODE:
      return "training";
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
      for (const GeneratorState& g : s.generators) {
        if ((g.name == "cpu") == (item == Item::RNG_CPU)) {
          return absl::StrFormat("%s, %d bytes", g.algorithm, g.state.size());
        }
      }
      return "";
    default:
      return "";
  }
}

// The value of `item`, which is SAVED, in one line; empty for an item that has
// none.
std::string Describe(const Snapshot& s, Item item) {
  std::string text = DescribeModel(s, item);
  if (text.empty() && s.optimizer) text = DescribeOptimizer(*s.optimizer, item);
  if (text.empty() && s.schedule) text = DescribeSchedule(*s.schedule, item);
  if (text.empty() && s.scaler) text = DescribeScaler(*s.scaler, item);
  if (text.empty() && s.sampler) text = DescribeSampler(*s.sampler, item);
  if (text.empty()) text = DescribeProgress(s, item);
  if (text.empty()) text = DescribeEvaluations(s, item);
  if (text.empty()) text = DescribeRun(s, item);
  return text;
}

}  // namespace

std::vector<RestoredItem> DescribeRestored(const Snapshot& snapshot) {
  std::vector<RestoredItem> rows;
  for (const ItemRecord& record : snapshot.inventory) {
    std::string value = record.reason;
    if (record.presence == Presence::PRESENCE_SAVED) {
      value = Describe(snapshot, record.item);
    }
    rows.push_back({TextOf(record.item), TextOf(record.presence), value});
  }
  return rows;
}

}  // namespace reprise
