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
#include <vector>

#include "absl/strings/string_view.h"
#include "format/vocabulary.h"

namespace reprise {

// Element type of a tensor; the number is the one of the v1 schema.
enum class DType {
  kF64 = 1,
  kF32 = 2,
  kF16 = 3,
  kBF16 = 4,
  kI64 = 5,
  kU64 = 6,
  kI32 = 7,
  kU32 = 8,
  kI16 = 9,
  kU16 = 10,
  kI8 = 11,
  kU8 = 12,
  kBool = 13,
};

// Bytes of one element, 1 to 8.
size_t SizeOf(DType dtype);
// Canonical text: "f32", "bf16", ...
absl::string_view Name(DType dtype);
// Whether values can be NaN or infinite.
bool IsFloatingPoint(DType dtype);

// A named dense row-major little-endian array.
class Tensor {
 public:
  // Refers to `data` without copying; it must outlive every use of the tensor.
  // `data` may be null when the shape holds no element.
  static Tensor View(std::string name, DType dtype, std::vector<int64_t> shape,
                     const void* data);
  // Refers to `data` and keeps `owner` alive as long as a copy of the tensor
  // is.
  static Tensor Shared(std::string name, DType dtype,
                       std::vector<int64_t> shape,
                       std::shared_ptr<const void> owner, const void* data);

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // Product of the shape; 1 for a scalar (empty shape). REQUIRES: every extent
  // is >= 0 and the product fits; saving and reading refuse other shapes.
  int64_t num_elements() const;
  size_t num_bytes() const { return num_elements() * SizeOf(dtype_); }
  const void* data() const { return data_; }
  absl::string_view bytes() const {
    return {static_cast<const char*>(data_), num_bytes()};
  }

 private:
  std::string name_;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
};

struct ItemRecord {
  Item item = vocab::ITEM_UNSPECIFIED;
  Presence presence = vocab::PRESENCE_UNSPECIFIED;
  // Attempted step whose boundary the value belongs to.
  uint64_t as_of_step = 0;
  // Why, for NOT_APPLICABLE and OMITTED.
  std::string reason;
};

struct ParameterGroup {
  std::string name;
  std::vector<std::string> parameters;
  double lr = 0;       // in force for the next step
  double base_lr = 0;  // what the schedule multiplies
  double weight_decay = 0;
  std::optional<double> beta1, beta2, eps;    // adam, adamw
  std::optional<double> momentum, dampening;  // sgd
  std::optional<bool> nesterov;               // sgd
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
};

struct ScheduleState {
  enum class Unit { kApplied = 1, kAttempted = 2, kSamples = 3, kEpochs = 4 };
  std::string form;
  Unit unit = Unit::kApplied;
  uint64_t position = 0;
  uint64_t horizon = 0;
  uint64_t warmup = 0;
  double final_fraction = 0;
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
};

struct GeneratorState {
  std::string name;       // "cpu", "cuda:0"
  std::string algorithm;  // "mt19937"
  std::string library;    // "libtorch 2.11.0"
  std::string state;
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
  std::string manifest_digest;  // 16 bytes
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

 private:
  void Mark(Item item, Presence presence, std::string reason);
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_SNAPSHOT_H_
