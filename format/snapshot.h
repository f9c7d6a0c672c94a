// The state of a training run at one step boundary, independent of any format
// version and of any training framework.
//
// A trainer fills a Snapshot from its live objects and hands it to
// CheckpointStore::Save; a reader returns one. Example (a test as well):
//
//   reprise::Snapshot snapshot;
//   snapshot.step = 60;
//   snapshot.parameters.push_back(reprise::Tensor::View(
//       "fc.weight", reprise::DType::kF32, {10, 784}, weights.data()));
//   snapshot.MarkSaved(reprise::Item::MODEL_PARAMS);
//
// Every item of the inventory has a record that says whether it is in the
// snapshot; absent is not zero, so every scalar whose zero is a value is
// std::optional. Not thread-safe; copies share tensor bytes.
#ifndef REPRISE_FORMAT_SNAPSHOT_H_
#define REPRISE_FORMAT_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "format/dtype.h"
#include "format/tensor.h"
#include "format/vocabulary.h"

namespace reprise {

struct ItemRecord {
  Item item = vocab::ITEM_UNSPECIFIED;
  Presence presence = vocab::PRESENCE_UNSPECIFIED;
  // Attempted step whose boundary the value belongs to.
  uint64_t as_of_step = 0;
  // Why, for NOT_APPLICABLE and OMITTED.
  std::string reason;
};

// What only version 2 records is marked (v2); saving it as version 1 refuses.

struct ParameterGroup {
  std::string name;
  std::vector<std::string> parameters;
  double lr = 0;       // in force for the next step
  double base_lr = 0;  // what the schedule multiplies
  double weight_decay = 0;
  std::optional<double> beta1, beta2, eps;    // adam, adamw
  std::optional<double> momentum, dampening;  // sgd
  std::optional<bool> nesterov;               // sgd
  std::string pattern;  // (v2) RE2 that chose the parameters; empty: none
};

struct ParameterState {
  std::string parameter;
  uint64_t step = 0;  // applied steps of this parameter
  std::vector<Tensor> moments;
};

struct OptimizerState {
  std::string kind;        // "adamw", "adam", "sgd"
  std::string arithmetic;  // id of the sequence of operations
  std::vector<ParameterGroup> groups;
  std::vector<ParameterState> states;
  std::optional<DType> state_dtype;  // (v2) in which new moments are made
};

struct NamedNumber {
  std::string name;
  double value = 0;
};

// What a schedule that looks at evaluations has seen.
struct PlateauState {
  std::optional<double> best;  // none before the first evaluation
  uint64_t bad_count = 0;
  uint64_t cooldown = 0;
  double factor = 1;  // what the base is multiplied by now
};

struct ScheduleState {
  enum class Unit { kApplied = 1, kAttempted = 2, kSamples = 3, kEpochs = 4 };
  std::string form;
  Unit unit = Unit::kApplied;
  uint64_t position = 0;
  uint64_t horizon = 0;
  uint64_t warmup = 0;
  double final_fraction = 0;
  std::vector<NamedNumber> parameters = {};  // (v2) what else the formula needs
  std::optional<PlateauState> state = {};    // (v2)
};

struct GradScalerState {
  float scale = 0;  // > 0 and finite
  uint32_t growth_tracker = 0;
  uint32_t growth_interval = 0;  // > growth_tracker
  double growth_factor = 0;      // > 1
  double backoff_factor = 0;     // in (0, 1)
  double min_scale = 0;          // >= 0
  std::string arithmetic;        // id of the sequence of operations
};

struct SamplerState {
  std::string algorithm;
  uint64_t seed = 0;
  // Samples trained since the start of the run, all epochs together.
  uint64_t cursor = 0;
  uint64_t batch_size = 0;    // > 0
  uint64_t dataset_size = 0;  // >= batch_size
  std::string stream_algorithm;
  std::string augmentation;
  // What happens to the samples of an epoch that fill no whole batch. Version 1
  // has kDrop only.
  enum class Tail { kDrop = 1, kPartial = 2, kSpan = 3 };
  Tail tail = Tail::kDrop;
  // (v2) Positions of samples drawn, not trained, and not drawn again.
  std::vector<uint64_t> in_flight = {};
};

// (v2) Which data it is.
struct DataFingerprint {
  std::string algorithm;
  std::string digest;  // 16 bytes
  uint64_t samples = 0;
};

struct GeneratorState {
  std::string name;       // "cpu", "cuda:0"
  std::string algorithm;  // "mt19937"
  std::string library;    // "libtorch 2.11.0"
  std::string state;
  std::optional<uint64_t> seed = {}, offset = {};  // (v2) of counter-based ones
};

// (v2) Everything from here to ConfigField.

struct ModelMode {
  bool training = true;
  std::vector<std::string> modules_in_other_mode;
};

struct AccumulationState {
  uint32_t count = 0;     // micro-steps of the next step that are done
  uint32_t per_step = 1;  // micro-steps that make one step, > count
};

struct EmaState {
  double decay = 0;  // in [0, 1)
  std::string ramp;  // id of the formula by which it begins; empty: none
  uint64_t updates = 0;
};

struct ClipState {
  enum class Kind { kNorm = 1, kValue = 2 };
  Kind kind = Kind::kNorm;
  double limit = 0;                 // > 0
  std::optional<double> norm_type;  // of kNorm
};

struct CounterState {
  uint64_t applied = 0;
  uint64_t skipped = 0;  // applied + skipped = step
  uint64_t samples = 0;  // trained, all epochs
};

struct EvaluationState {
  struct Result {
    uint64_t step = 0;
    std::vector<NamedNumber> metrics;
  };
  bool pending = false;        // due and not done
  std::optional<Result> last;  // none yet
};

struct BestState {
  std::string metric;
  bool higher_is_better = false;
  double value = 0;
  uint64_t step = 0;
};

struct EarlyStopState {
  uint64_t patience = 0;  // evaluations
  double min_delta = 0;
  uint64_t bad_count = 0;
  std::optional<double> best;  // none before the first evaluation
};

struct UserValue {
  std::string name;
  // Bytes are a std::vector<uint8_t>, text (UTF-8) a std::string.
  std::variant<int64_t, uint64_t, double, bool, std::string,
               std::vector<uint8_t>>
      value;
};

// What the next step will see, computed at the save from the live objects.
struct WitnessState {
  struct Draw {
    std::string generator;
    std::string digest;  // XXH3-128 of the first draws of a clone, 16 bytes
  };
  std::string next_samples;  // XXH3-128 of the next sample ids; empty: unknown
  std::vector<NamedNumber> next_lr;  // of each group
  std::optional<float> next_scale;
  std::vector<Draw> draws;
};

// One step from one major version to the next.
struct MigrationRecord {
  uint32_t from_major = 0;
  uint32_t to_major = 0;
  std::string program;
  std::string source_manifest_digest;  // 16 bytes
  std::vector<std::string> notes;
};

struct ConfigField {
  std::string path;
  std::string value;
  ResumeRule rule = vocab::RESUME_RULE_UNSPECIFIED;
  std::optional<std::string> previous;
};

struct EnvironmentState {
  ResumeLevel level = vocab::RESUME_LEVEL_UNSPECIFIED;
  std::string trainer_version, libtorch_version, compiler;
  std::string device, device_name, cpu_capability;
  uint32_t threads = 0;
  uint32_t world_size = 0;
  std::string autocast_dtype;
  bool deterministic = false;
  bool allow_tf32 = false;
  std::string kernel_probe;  // 16 bytes
};

struct ParentRef {
  uint64_t step = 0;
  std::string manifest_digest;    // 16 bytes
  std::string value_digest = {};  // (v2) 16 bytes; empty: not known
};

// (v2) What a file of a later minor version has and this program does not know,
// for a tool that saves the same step again. A trainer leaves it out: content
// of another step than the snapshot's is refused.
struct UnknownContent {
  uint32_t minor = 0;  // of the file
  uint64_t step = 0;   // and the step that it was of
  uint32_t micro = 0;
  std::string fields;  // a manifest with nothing else in it
  std::string lost;    // path of what cannot be put back; empty: none
};

struct Snapshot {
  std::string run_id;  // 32 lower-case hexadecimal digits
  uint64_t attempt = 0;
  std::optional<ParentRef> parent;
  uint64_t step = 0;  // attempted steps completed
  std::vector<ItemRecord> inventory;

  std::string architecture;
  std::string initialisation;
  std::vector<Tensor> parameters;
  std::vector<Tensor> buffers;

  std::optional<OptimizerState> optimizer;
  std::optional<ScheduleState> schedule;
  std::optional<GradScalerState> scaler;
  std::optional<SamplerState> sampler;
  std::vector<GeneratorState> generators;
  std::vector<ConfigField> config;
  std::optional<EnvironmentState> environment;

  // (v2) from here on. Tensors with the names of parameters:
  std::vector<Tensor> masters;      // fp32 copies that the optimizer steps
  std::vector<Tensor> gradients;    // accumulated so far, still scaled
  std::vector<Tensor> ema_weights;  // also of buffers
  std::vector<Tensor> user_tensors;
  std::optional<ModelMode> mode;
  std::optional<std::vector<std::string>> frozen;  // names of parameters
  std::optional<AccumulationState> accumulation;
  std::optional<EmaState> ema;
  std::optional<ClipState> clip;
  std::optional<CounterState> counters;
  std::optional<DataFingerprint> fingerprint;
  std::optional<EvaluationState> evaluation;
  std::optional<BestState> best;
  std::optional<EarlyStopState> early_stop;
  std::vector<UserValue> user;
  std::optional<WitnessState> witness;
  // Features of the file that a reader need not know; carried.
  std::vector<std::string> optional_features;
  // Items that the user allowed to be missing when this attempt resumed.
  std::vector<Item> accepted_missing;
  std::vector<MigrationRecord> history;
  std::optional<UnknownContent> unknown;

  // Not training state.
  std::string writer;
  int64_t created_unix_nanos = 0;
  std::string host;

  // Adds (or replaces) the record of `item`, as of the current `step`.
  void MarkSaved(Item item);
  void MarkEmpty(Item item);
  void MarkNotApplicable(Item item, std::string reason);
  void MarkOmitted(Item item, std::string reason);
  // The record of `item`; null when there is none.
  const ItemRecord* Find(Item item) const;

  // Micro-steps of the next step that are done; 0 at a boundary.
  uint32_t micro_step() const {
    return accumulation.has_value() ? accumulation->count : 0;
  }

 private:
  void Mark(Item item, Presence presence, std::string reason);
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_SNAPSHOT_H_
