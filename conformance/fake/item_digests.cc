#include "conformance/fake/item_digests.h"

#include <xxhash.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/random/keyed_permutation.h"
#include "format/vocabulary.h"

namespace reprise::conformance::fake {
namespace {

std::string Hash(const std::string& bytes) {
  return absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()));
}

template <typename List>
std::string HashOfMessages(const List& list) {
  std::string bytes;
  for (const auto& message : list) {
    absl::StrAppend(&bytes, message.ByteSizeLong(), ":",
                    message.SerializeAsString());
  }
  return Hash(bytes);
}

class Collector {
 public:
  explicit Collector(const State& state) : state_(state) {}

  void Digest(vocabulary::v1::Item item, std::string digest) {
    v1::ItemDigest* entry = &digests_.emplace_back();
    entry->set_item(item);
    entry->set_digest(std::move(digest));
    entry->set_as_of_step(state_.counters().step());
    for (const Stamp& stamp : state_.stamps()) {
      if (stamp.item() == TextOf(item)) {
        entry->set_as_of_step(stamp.as_of_step());
      }
    }
  }

  template <typename Value>
  void Scalar(vocabulary::v1::Item item, const Value& value) {
    std::string text = absl::StrCat(value);
    Digest(item, Hash(text));
    digests_.back().set_value(std::move(text));
  }

  std::vector<v1::ItemDigest> Take() { return std::move(digests_); }

 private:
  const State& state_;
  std::vector<v1::ItemDigest> digests_;
};

std::string Real(double value) { return absl::StrFormat("%.17g", value); }

void Optimizer(const State& state, Collector* out) {
  const OptimizerState& optimizer = state.optimizer();
  out->Scalar(vocabulary::v1::OPTIM_KIND, optimizer.kind());
  std::string options, names, moments, steps;
  for (const Group& group : optimizer.groups()) {
    absl::StrAppend(&names, absl::StrJoin(group.parameters(), ","), ";");
    absl::StrAppend(&options, group.SerializeAsString());
  }
  for (ParameterState own : optimizer.states()) {
    absl::StrAppend(&steps, own.parameter(), "=", own.step(), ";");
    own.clear_step();
    absl::StrAppend(&moments, own.SerializeAsString());
  }
  out->Digest(vocabulary::v1::OPTIM_GROUPS, Hash(options));
  out->Digest(vocabulary::v1::OPTIM_MOMENTS, Hash(moments));
  out->Scalar(vocabulary::v1::OPTIM_STEP, steps);
  out->Digest(vocabulary::v1::OPTIM_IDENTITY, Hash(names));
  out->Scalar(vocabulary::v1::OPTIM_DTYPE, optimizer.dtype());
}

void Schedule(const State& state, Collector* out) {
  const ScheduleState& schedule = state.schedule();
  out->Scalar(vocabulary::v1::SCHED_DEFINITION,
              absl::StrCat(schedule.form(), " warmup=", schedule.warmup(),
                           " final=", Real(schedule.final_fraction())));
  out->Scalar(vocabulary::v1::SCHED_POSITION, schedule.position());
  out->Scalar(vocabulary::v1::SCHED_UNIT, schedule.unit());
  out->Scalar(vocabulary::v1::SCHED_HORIZON, schedule.horizon());
  out->Scalar(vocabulary::v1::SCHED_BASE, Real(schedule.base_lr()));
  std::string applied;
  for (double lr : schedule.applied_lr())
    absl::StrAppend(&applied, Real(lr), " ");
  out->Scalar(vocabulary::v1::SCHED_APPLIED, applied);
  if (schedule.has_plateau()) {
    out->Digest(vocabulary::v1::SCHED_STATE,
                Hash(schedule.plateau().SerializeAsString()));
  }
}

void Data(const State& state, Collector* out) {
  const uint64_t epoch = state.sampler().cursor() / state.data().size();
  out->Scalar(vocabulary::v1::SAMPLER_ALGORITHM, state.sampler().algorithm());
  out->Scalar(vocabulary::v1::SAMPLER_SEED, state.sampler().seed());
  out->Scalar(vocabulary::v1::SAMPLER_CURSOR, state.sampler().cursor());
  out->Scalar(
      vocabulary::v1::DATA_FINGERPRINT,
      absl::StrCat(state.data().fingerprint(), "/", state.data().size()));
  out->Scalar(vocabulary::v1::DATA_BATCH, state.data().batch());
  const KeyedPermutation order(state.data().size(), state.sampler().seed(),
                               epoch);
  std::string ids;
  for (uint64_t i = 0; i < 8 && i < state.data().size(); ++i) {
    absl::StrAppend(&ids, order(i), " ");
  }
  out->Digest(vocabulary::v1::SAMPLER_ORDER, Hash(ids));
}

void Rest(const State& state, Collector* out) {
  out->Digest(vocabulary::v1::RNG_CPU, DigestOf(state.cpu()));
  if (state.has_cuda()) {
    out->Digest(vocabulary::v1::RNG_CUDA, DigestOf(state.cuda()));
  }
  out->Scalar(vocabulary::v1::RNG_DATA, state.augmentation_seed());
  out->Scalar(vocabulary::v1::ACCUM_COUNT, state.accumulation().count());
  AccumulationState gradients = state.accumulation();
  gradients.clear_count();
  out->Digest(vocabulary::v1::ACCUM_GRADS, Hash(gradients.SerializeAsString()));
  out->Digest(vocabulary::v1::EMA_WEIGHTS, DigestOf(state.ema().weights()));
  out->Scalar(vocabulary::v1::EMA_UPDATES, state.ema().updates());
  out->Scalar(vocabulary::v1::EMA_CONFIG, Real(state.ema().decay()));
  out->Scalar(vocabulary::v1::CLIP, Real(state.clip_norm()));
  out->Scalar(vocabulary::v1::PRECISION_FLAGS,
              absl::StrCat(state.precision().autocast(), " deterministic=",
                           state.precision().deterministic() ? 1 : 0));
  out->Scalar(vocabulary::v1::COUNTERS_STEP, state.counters().step());
  out->Scalar(vocabulary::v1::COUNTERS_APPLIED, state.counters().applied());
  out->Scalar(vocabulary::v1::COUNTERS_SKIPPED, state.counters().skipped());
  out->Scalar(vocabulary::v1::COUNTERS_SAMPLES, state.counters().samples());
  out->Digest(vocabulary::v1::EVAL,
              Hash(state.evaluation().SerializeAsString()));
  out->Scalar(vocabulary::v1::BEST,
              state.best().has_value()
                  ? absl::StrCat(Real(state.best().value()), " at ",
                                 state.best().step())
                  : "none");
  out->Scalar(vocabulary::v1::EARLY_STOP,
              absl::StrCat(state.early_stop().bad_count(), " of ",
                           state.early_stop().patience()));
  std::string config = absl::StrCat("dropout=", Real(state.dropout()), " ");
  for (const ConfigField& field : state.config()) {
    absl::StrAppend(&config, field.name(), "=", field.value(), " ");
  }
  out->Scalar(vocabulary::v1::CONFIG, config);
}

}  // namespace

std::string DigestOf(const Arrays& arrays) { return HashOfMessages(arrays); }

std::string DigestOf(const GeneratorState& generator) {
  return Hash(generator.SerializeAsString());
}

std::vector<v1::ItemDigest> ItemDigests(const State& state) {
  Collector out(state);
  out.Digest(vocabulary::v1::MODEL_PARAMS, DigestOf(state.parameters()));
  if (!state.buffers().empty()) {
    out.Digest(vocabulary::v1::MODEL_BUFFERS, DigestOf(state.buffers()));
  }
  out.Digest(vocabulary::v1::MODEL_TIES, HashOfMessages(state.ties()));
  out.Scalar(vocabulary::v1::FROZEN_FLAGS, absl::StrJoin(state.frozen(), ","));
  out.Scalar(vocabulary::v1::MODE, state.mode());
  Optimizer(state, &out);
  if (!state.masters().empty()) {
    out.Digest(vocabulary::v1::MASTER, DigestOf(state.masters()));
  }
  Schedule(state, &out);
  out.Scalar(vocabulary::v1::SCALER_SCALE,
             Real(double{state.scaler().scale()}));
  out.Scalar(vocabulary::v1::SCALER_GROWTH_TRACKER,
             state.scaler().growth_tracker());
  out.Scalar(vocabulary::v1::SCALER_CONFIG,
             absl::StrCat("interval=", state.scaler().growth_interval(),
                          " growth=", Real(state.scaler().growth_factor()),
                          " backoff=", Real(state.scaler().backoff_factor())));
  Data(state, &out);
  Rest(state, &out);
  std::vector<v1::ItemDigest> digests = out.Take();
  std::sort(digests.begin(), digests.end(),
            [](const auto& a, const auto& b) { return a.item() < b.item(); });
  return digests;
}

}  // namespace reprise::conformance::fake
