#include "conformance/report/plain_words.h"

#include <cctype>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise::conformance {

std::string ItemInWords(Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
      return "the model's weights";
    case Item::MODEL_BUFFERS:
      return "the running statistics (buffers) of the model";
    case Item::MODEL_TIES:
      return "the sharing of tied weights";
    case Item::FROZEN_FLAGS:
      return "the record of which parameters are frozen";
    case Item::MODE:
      return "training or evaluation mode";
    case Item::OPTIM_KIND:
      return "the kind of optimizer";
    case Item::OPTIM_GROUPS:
      return "the options of the parameter groups (rates, betas, weight decay)";
    case Item::OPTIM_MOMENTS:
      return "the optimizer's moments";
    case Item::OPTIM_STEP:
      return "the optimizer's step count";
    case Item::OPTIM_IDENTITY:
      return "the link between the optimizer's state and its parameters";
    case Item::OPTIM_DTYPE:
      return "the number format of the optimizer's state";
    case Item::MASTER:
      return "the fp32 master weights";
    case Item::SCHED_DEFINITION:
      return "the definition of the learning-rate schedule";
    case Item::SCHED_POSITION:
      return "the position in the learning-rate schedule";
    case Item::SCHED_UNIT:
      return "the unit in which the schedule counts";
    case Item::SCHED_HORIZON:
      return "the end point of the schedule";
    case Item::SCHED_BASE:
      return "the base learning rate";
    case Item::SCHED_APPLIED:
      return "the learning rate in force";
    case Item::SCHED_STATE:
      return "the schedule's own memory (best value, patience, factor)";
    case Item::SCALER_SCALE:
      return "the loss scale of the gradient scaler";
    case Item::SCALER_GROWTH_TRACKER:
      return "the scaler's count of good steps";
    case Item::SCALER_CONFIG:
      return "the scaler's settings";
    case Item::SAMPLER_ALGORITHM:
      return "the algorithm that orders the samples";
    case Item::SAMPLER_SEED:
      return "the seed of the sample order";
    case Item::SAMPLER_CURSOR:
      return "the position in the training data";
    case Item::SAMPLER_ORDER:
      return "the order of the samples";
    case Item::DATA_FINGERPRINT:
      return "the data set";
    case Item::DATA_BATCH:
      return "the batch size";
    case Item::LOADER_INFLIGHT:
      return "the batches that the loader had read ahead";
    case Item::RNG_CPU:
      return "the CPU's random generator";
    case Item::RNG_CUDA:
      return "the GPU's random generator";
    case Item::RNG_DATA:
      return "the random generator of the data pipeline";
    case Item::ACCUM_COUNT:
      return "the count of accumulated micro-steps";
    case Item::ACCUM_GRADS:
      return "the accumulated gradients";
    case Item::EMA_WEIGHTS:
      return "the averaged weights";
    case Item::EMA_UPDATES:
      return "the update count of the averaged weights";
    case Item::EMA_CONFIG:
      return "the settings of the averaged weights";
    case Item::CLIP:
      return "gradient clipping";
    case Item::PRECISION_FLAGS:
      return "the precision in force (autocast type, TF32, determinism)";
    case Item::COUNTERS_STEP:
      return "the step counter";
    case Item::COUNTERS_APPLIED:
      return "the count of applied steps";
    case Item::COUNTERS_SKIPPED:
      return "the count of skipped steps";
    case Item::COUNTERS_SAMPLES:
      return "the count of samples";
    case Item::EVAL:
      return "the evaluation state";
    case Item::BEST:
      return "the mark of the best evaluation";
    case Item::EARLY_STOP:
      return "the patience of early stopping";
    case Item::CONFIG:
      return "the configuration";
    case Item::ENVIRONMENT:
      return "the environment (device, kernels, threads)";
    case Item::USER:
      return "an item of the user's";
    case Item::WITNESS:
      return "the witness";
    case Item::RUN:
      return "the run";
    case Item::SOURCE:
      return "the checkpoint that was resumed";
    case Item::SAVE:
      return "saving";
    case Item::SNAPSHOT:
      return "the snapshot that was saved";
    case Item::GENERATION:
      return "the set of parts that were loaded together";
    case Item::STEP:
      return "the first step after the resume";
    default:
      return reprise::TextOf(item);
  }
}

std::string FaultInWords(Fault fault) {
  switch (fault) {
    case Fault::FAULT_MISSING:
      return "is missing";
    case Fault::FAULT_RESET:
      return "was set back to its first value";
    case Fault::FAULT_STALE:
      return "is that of an older step";
    case Fault::FAULT_LAG:
      return "is behind";
    case Fault::FAULT_LEAD:
      return "is ahead";
    case Fault::FAULT_UNIT:
      return "is counted in the wrong unit";
    case Fault::FAULT_CHANGED:
      return "is another one than before";
    case Fault::FAULT_SWAPPED:
      return "took the place of something else";
    case Fault::FAULT_REBUILT:
      return "was rebuilt from less precise values";
    case Fault::FAULT_PARTIAL:
      return "was restored in part only";
    case Fault::FAULT_TORN:
      return "mixes values from before and after a step";
    case Fault::FAULT_MIXED:
      return "comes from different steps";
    case Fault::FAULT_SIDE_EFFECT:
      return "was changed by the act of loading";
    case Fault::FAULT_CONSUMED:
      return "was drawn from between the load and the first step";
    case Fault::FAULT_RESEEDED:
      return "was seeded again after the load";
    case Fault::FAULT_REORDERED:
      return "is not that of the uninterrupted run";
    case Fault::FAULT_STICKY:
      return "no longer moves after the resume";
    case Fault::FAULT_EPOCH_END:
      return "is wrong by an epoch at the epoch's end";
    case Fault::FAULT_NONFINITE:
      return "went on with values that are not finite";
    case Fault::FAULT_UNSCALED:
      return "used gradients with the wrong scale";
    case Fault::FAULT_SHORT:
      return "ended before it was done";
    case Fault::FAULT_FAILED:
      return "failed";
    case Fault::FAULT_NONE:
      return "is none: the run started from scratch";
    default:
      return reprise::TextOf(fault);
  }
}

std::string FindingInWords(const v1::Finding& finding) {
  std::vector<std::string> sentences;
  for (const v1::FaultName& name : finding.names()) {
    sentences.push_back(absl::StrCat(ItemInWords(name.item()), " ",
                                     FaultInWords(name.fault())));
  }
  if (sentences.empty()) return "";
  std::string text =
      sentences.size() == 1
          ? absl::StrCat(sentences[0], ".")
          : absl::StrCat(
                "one of these, and what was recorded cannot tell "
                "which: ",
                absl::StrJoin(sentences, "; or "), ".");
  text[0] = static_cast<char>(std::toupper(text[0]));
  return text;
}

std::string WhereToLook(const v1::FaultName& name) {
  switch (name.item()) {
    case Item::OPTIM_MOMENTS:
    case Item::OPTIM_STEP:
    case Item::OPTIM_IDENTITY:
    case Item::OPTIM_GROUPS:
      return "Where is the optimizer's state loaded, and is anything built "
             "after it that makes a new optimizer or new groups?";
    case Item::SCHED_POSITION:
    case Item::SCHED_HORIZON:
    case Item::SCHED_UNIT:
    case Item::SCHED_BASE:
    case Item::SCHED_STATE:
      return "Is the schedule restored after it is constructed, and does "
             "restoring it take a step of its own?";
    case Item::SCALER_SCALE:
    case Item::SCALER_GROWTH_TRACKER:
      return "Is the gradient scaler saved at all, and is it created before "
             "its state is loaded?";
    case Item::SAMPLER_CURSOR:
    case Item::SAMPLER_ORDER:
    case Item::LOADER_INFLIGHT:
      return "Does the loader seek to the saved position, in samples, in the "
             "order of the saved epoch, before its workers start?";
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
    case Item::RNG_DATA:
      return "Is every generator restored, last of all, after anything that "
             "seeds or draws?";
    case Item::MODEL_PARAMS:
      return "Is the load strict about names, and does any later step "
             "initialise the model again?";
    case Item::MODEL_BUFFERS:
      return "Are buffers part of what is saved, beside the parameters?";
    case Item::EMA_WEIGHTS:
    case Item::EMA_UPDATES:
      return "Are the averaged weights and their update count saved, apart "
             "from the raw weights?";
    case Item::SOURCE:
      return "How is the newest checkpoint chosen: by step number, and only "
             "among complete ones?";
    case Item::SAVE:
      return "Does a failed save reach the exit status?";
    default:
      return "";
  }
}

}  // namespace reprise::conformance
