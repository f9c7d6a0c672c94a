#include "conformance/judge/causes.h"

#include <algorithm>

namespace reprise::conformance {
namespace {

// What an item acts on first within a step.
enum class Acts {
  kForward,     // weights, random streams, precision: the loss itself
  kData,        // which samples: ids, then the loss
  kGradient,    // after the loss, before the gradient norm
  kUpdate,      // after the gradient norm
  kSchedule,    // through the learning rate
  kScaler,      // through the scale
  kEvaluation,  // read by evaluations only
  kAverage,     // read by evaluations of the averaged weights only
  kBest,        // decided after an evaluation
  kApplied,     // a counter and nothing else
  kSamples,
  kEverything,
  kNothing,
};

Acts ActsOf(Item item, Fault fault) {
  // Averaged weights in the place of the trained ones.
  if (item == Item::EMA_WEIGHTS && fault == Fault::FAULT_SWAPPED) {
    return Acts::kForward;
  }
  switch (item) {
    case Item::MODEL_PARAMS:
    case Item::MODEL_TIES:
    case Item::MASTER:
    case Item::MODE:
    case Item::PRECISION_FLAGS:
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
    case Item::ACCUM_GRADS:
    case Item::ENVIRONMENT:
    case Item::CONFIG:
    case Item::USER:
      return Acts::kForward;
    case Item::RUN:
      return fault == Fault::FAULT_NONFINITE ? Acts::kForward : Acts::kNothing;
    case Item::SAMPLER_ALGORITHM:
    case Item::SAMPLER_SEED:
    case Item::SAMPLER_CURSOR:
    case Item::SAMPLER_ORDER:
    case Item::DATA_FINGERPRINT:
    case Item::DATA_BATCH:
    case Item::LOADER_INFLIGHT:
    case Item::RNG_DATA:
    case Item::ACCUM_COUNT:
      return Acts::kData;
    case Item::STEP:
    case Item::FROZEN_FLAGS:
      return Acts::kGradient;
    case Item::OPTIM_KIND:
    case Item::OPTIM_MOMENTS:
    case Item::OPTIM_STEP:
    case Item::OPTIM_IDENTITY:
    case Item::OPTIM_DTYPE:
    case Item::OPTIM_GROUPS:
    case Item::CLIP:
      return Acts::kUpdate;
    case Item::SCHED_DEFINITION:
    case Item::SCHED_POSITION:
    case Item::SCHED_UNIT:
    case Item::SCHED_HORIZON:
    case Item::SCHED_BASE:
    case Item::SCHED_APPLIED:
    case Item::SCHED_STATE:
      return Acts::kSchedule;
    case Item::SCALER_SCALE:
    case Item::SCALER_GROWTH_TRACKER:
    case Item::SCALER_CONFIG:
      return Acts::kScaler;
    case Item::MODEL_BUFFERS:
      return Acts::kEvaluation;
    case Item::EMA_WEIGHTS:
    case Item::EMA_UPDATES:
    case Item::EMA_CONFIG:
      return Acts::kAverage;
    case Item::BEST:
    case Item::EARLY_STOP:
    case Item::EVAL:
      return Acts::kBest;
    case Item::COUNTERS_APPLIED:
    case Item::COUNTERS_SKIPPED:
      return Acts::kApplied;
    case Item::COUNTERS_SAMPLES:
      return Acts::kSamples;
    case Item::SOURCE:
    case Item::SNAPSHOT:
    case Item::GENERATION:
      return Acts::kEverything;
    default:
      return Acts::kNothing;
  }
}

bool IsUpdate(Channel channel) {
  return channel == Channel::kUpdateNorm || channel == Channel::kUpdateNorms ||
         channel == Channel::kParameters;
}

// Recorded by an evaluation, or what weights decide within or after a step.
bool FollowsWeights(Channel channel) {
  return channel == Channel::kLoss || channel == Channel::kGradNorm ||
         IsUpdate(channel) || IsEvaluation(channel) ||
         channel == Channel::kSkipped || channel == Channel::kScale ||
         channel == Channel::kApplied;
}

bool AfterOnset(const Onsets& onsets, Channel channel, uint64_t step) {
  auto found = onsets.find(channel);
  return found != onsets.end() && found->second < step;
}

bool AtOrAfterOnset(const Onsets& onsets, Channel channel, uint64_t step) {
  auto found = onsets.find(channel);
  return found != onsets.end() && found->second <= step;
}

}  // namespace

bool Explains(Item item, Fault fault, uint64_t since, Channel channel,
              uint64_t step, const Onsets& onsets) {
  if (step < since) return false;
  // A step uses the scale that the steps before it left: it follows a different
  // skip from the next step on, and without one it differs only when the
  // scaler's own state does. Different weights alone move no doubling.
  if (channel == Channel::kScale &&
      !AfterOnset(onsets, Channel::kSkipped, step)) {
    const Acts acts = ActsOf(item, fault);
    return acts == Acts::kScaler || acts == Acts::kEverything;
  }
  // The schedule counts applied steps, so it follows a different skip.
  if (channel == Channel::kLr && AfterOnset(onsets, Channel::kSkipped, step)) {
    return true;
  }
  switch (ActsOf(item, fault)) {
    case Acts::kEverything:
      return true;
    case Acts::kForward:
      // Another number of draws in each step.
      if (channel == Channel::kRng && step > since &&
          (item == Item::MODE || item == Item::CONFIG || item == Item::USER)) {
        return true;
      }
      if (item == Item::RNG_CPU || item == Item::RNG_CUDA) {
        if (channel == Channel::kRng) return true;
        // A sampler may draw from the CPU's generator.
        if (item == Item::RNG_CPU &&
            (channel == Channel::kIds || channel == Channel::kEpoch)) {
          return true;
        }
      }
      return FollowsWeights(channel);
    case Acts::kData:
      if (channel == Channel::kIds || channel == Channel::kSamples ||
          channel == Channel::kEpoch) {
        return true;
      }
      if (channel == Channel::kRng) {
        return item == Item::RNG_DATA || item == Item::ACCUM_COUNT ||
               (item == Item::DATA_BATCH && step > since);
      }
      // A draw of its own: with other samples the run draws otherwise.
      return FollowsWeights(channel) &&
             (onsets.count(Channel::kIds) == 0 ||
              AtOrAfterOnset(onsets, Channel::kIds, step) ||
              item == Item::ACCUM_COUNT);
    case Acts::kGradient:
      if (channel == Channel::kLoss || IsEvaluation(channel)) {
        return AfterOnset(onsets, Channel::kGradNorm, step) ||
               AfterOnset(onsets, Channel::kUpdateNorm, step) ||
               AfterOnset(onsets, Channel::kUpdateNorms, step) || step > since;
      }
      return FollowsWeights(channel);
    case Acts::kUpdate:
      if (item == Item::OPTIM_GROUPS && channel == Channel::kLr) return true;
      if (IsUpdate(channel) || IsEvaluation(channel)) return true;
      return FollowsWeights(channel) && step > since;
    case Acts::kSchedule:
      if (channel == Channel::kLr) return true;
      if (IsUpdate(channel) || IsEvaluation(channel)) {
        return AtOrAfterOnset(onsets, Channel::kLr, step);
      }
      return FollowsWeights(channel) && AfterOnset(onsets, Channel::kLr, step);
    case Acts::kScaler:
      if (channel == Channel::kScale || channel == Channel::kSkipped ||
          channel == Channel::kApplied) {
        return true;
      }
      if (channel == Channel::kGradNorm || IsUpdate(channel) ||
          IsEvaluation(channel)) {
        return AtOrAfterOnset(onsets, Channel::kScale, step) ||
               AtOrAfterOnset(onsets, Channel::kSkipped, step);
      }
      return FollowsWeights(channel) &&
             (AtOrAfterOnset(onsets, Channel::kScale, step) ||
              AfterOnset(onsets, Channel::kSkipped, step));
    case Acts::kEvaluation:
      return IsEvaluation(channel);
    case Acts::kAverage:
      return channel == Channel::kEmaLoss || channel == Channel::kMetric ||
             channel == Channel::kBest || channel == Channel::kBadCount;
    case Acts::kBest:
      if (channel == Channel::kBest) return item == Item::BEST;
      if (channel == Channel::kBadCount || channel == Channel::kLr) return true;
      return FollowsWeights(channel) && AfterOnset(onsets, Channel::kLr, step);
    case Acts::kApplied:
      return channel == Channel::kApplied;
    case Acts::kSamples:
      return channel == Channel::kSamples;
    case Acts::kNothing:
      return false;
  }
  return false;
}

bool Contaminates(Item cause, Fault fault, Item item) {
  if (cause == item) return true;
  const Acts acts = ActsOf(cause, fault);
  if (acts == Acts::kEverything) return true;
  switch (ActsOf(item, Fault::FAULT_UNSPECIFIED)) {
    case Acts::kScaler:
    case Acts::kSchedule:
    case Acts::kApplied:
      // Through a different skip.
      return acts != Acts::kNothing && acts != Acts::kBest &&
             acts != Acts::kAverage && acts != Acts::kEvaluation &&
             acts != Acts::kSamples;
    case Acts::kData:
    case Acts::kSamples:
      return acts == Acts::kData || item == Item::ACCUM_COUNT;
    case Acts::kNothing:
      return false;
    case Acts::kAverage:
    case Acts::kBest:
      return acts != Acts::kNothing && acts != Acts::kSamples;
    case Acts::kEvaluation:
      return acts != Acts::kBest && acts != Acts::kAverage &&
             acts != Acts::kNothing;
    default:
      if (item == Item::RNG_CPU || item == Item::RNG_CUDA) {
        return cause == Item::RNG_CPU || cause == Item::RNG_CUDA ||
               acts == Acts::kData || cause == Item::MODE ||
               cause == Item::CONFIG;
      }
      return acts != Acts::kAverage && acts != Acts::kApplied &&
             acts != Acts::kSamples && acts != Acts::kNothing;
  }
}

}  // namespace reprise::conformance
