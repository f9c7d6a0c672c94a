#include "format/testing/checkpoint_builder.h"

#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/envelope.h"
#include "format/manifest_file.h"
#include "format/run_layout.h"
#include "format/v1/items.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

OptimizerState SmallOptimizer(uint64_t step) {
  OptimizerState optimizer;
  optimizer.kind = "adamw";
  optimizer.arithmetic = "torch-single-tensor-v1";
  ParameterGroup decay;
  decay.name = "decay";
  decay.parameters = {"fc.weight"};
  decay.lr = 0.003 / (1.0 + static_cast<double>(step));
  decay.base_lr = 0.003;
  decay.weight_decay = 0.01;
  decay.beta1 = 0.9;
  decay.beta2 = 0.999;
  decay.eps = 1e-8;
  ParameterGroup no_decay = decay;
  no_decay.name = "no_decay";
  no_decay.parameters = {"fc.bias"};
  no_decay.weight_decay = 0;
  optimizer.groups = {decay, no_decay};
  const float value = static_cast<float>(step);
  for (const auto& [name, shape, size] :
       {std::make_tuple("fc.weight", std::vector<int64_t>{2, 3}, 6),
        std::make_tuple("fc.bias", std::vector<int64_t>{2}, 2)}) {
    ParameterState state;
    state.parameter = name;
    state.step = step;
    if (step > 0) {
      state.moments = {
          FloatTensor("exp_avg", shape, std::vector<float>(size, value * 0.5f)),
          FloatTensor("exp_avg_sq", shape,
                      std::vector<float>(size, value * 0.25f))};
    }
    optimizer.states.push_back(std::move(state));
  }
  return optimizer;
}

}  // namespace

Tensor BytesTensor(std::string name, DType dtype, std::vector<int64_t> shape,
                   std::string bytes) {
  auto owner = std::make_shared<std::string>(std::move(bytes));
  const void* data = owner->data();
  return Tensor::Shared(std::move(name), dtype, std::move(shape),
                        std::move(owner), data);
}

Tensor FloatTensor(std::string name, std::vector<int64_t> shape,
                   std::vector<float> values) {
  auto owner = std::make_shared<std::vector<float>>(std::move(values));
  const void* data = owner->data();
  return Tensor::Shared(std::move(name), DType::kF32, std::move(shape),
                        std::move(owner), data);
}

Snapshot SmallSnapshot(uint64_t step) {
  Snapshot snapshot;
  snapshot.run_id = "0123456789abcdef0123456789abcdef";
  snapshot.attempt = 1;
  snapshot.step = step;
  snapshot.architecture = "mlp";
  snapshot.initialisation = "torch-default-v1";
  const float value = static_cast<float>(step);
  snapshot.parameters = {
      FloatTensor("fc.weight", {2, 3},
                  {value, 1, -0.0f, 0.5f, -2,
                   std::numeric_limits<float>::denorm_min()}),
      FloatTensor("fc.bias", {2}, {value * 2, -value})};
  snapshot.buffers = {FloatTensor("norm.mean", {}, {value * 3})};
  snapshot.optimizer = SmallOptimizer(step);
  snapshot.schedule = ScheduleState{
      "warmup-cosine-v1", ScheduleState::Unit::kApplied, step, 300, 20, 0.01};
  snapshot.scaler = GradScalerState{
      65536,           static_cast<uint32_t>(step % 20), 20, 2, 0.5, 0x1p-14,
      "grad-scaler-v1"};
  snapshot.sampler = SamplerState{
      "feistel-v1", 1, step * 10, 10, 1000, "philox4x32-10", "shift2-flip-v1"};
  snapshot.generators = {
      {"cpu", "mt19937", "libtorch 2.11.0", absl::StrCat("state at ", step)}};
  snapshot.config = {{"optimizer.lr", "0.003", ResumeRule::MAY_CHANGE, "0.002"},
                     {"run.seed", "1", ResumeRule::MUST_MATCH, std::nullopt}};
  EnvironmentState environment;
  environment.level = ResumeLevel::BITWISE;
  environment.trainer_version = "0.1.0";
  environment.libtorch_version = "2.11.0";
  environment.compiler = "g++ 12.2";
  environment.device = "cpu";
  environment.device_name = "some processor";
  environment.cpu_capability = "AVX2";
  environment.threads = 1;
  environment.world_size = 1;
  environment.autocast_dtype = "fp16";
  environment.kernel_probe = "0123456789abcdef";
  snapshot.environment = environment;
  snapshot.writer = "checkpoint_builder";
  snapshot.created_unix_nanos = 1700000000000000000;
  snapshot.host = "test";
  for (Item item : ItemsOfV1()) snapshot.MarkSaved(item);
  snapshot.MarkNotApplicable(Item::RNG_CUDA, "the device is cpu");
  if (step == 0) snapshot.MarkEmpty(Item::OPTIM_MOMENTS);
  return snapshot;
}

checkpoint::v1::ItemRecord* RecordOf(checkpoint::v1::Checkpoint* message,
                                     Item item) {
  for (checkpoint::v1::ItemRecord& record : *message->mutable_inventory()) {
    if (record.item() == item) return &record;
  }
  checkpoint::v1::ItemRecord* record = message->add_inventory();
  record->set_item(item);
  record->set_as_of_step(message->step());
  return record;
}

absl::Status RewriteManifest(
    const std::string& path,
    const std::function<void(checkpoint::v1::Checkpoint*)>& edit,
    FileSystem* file_system) {
  const std::string file_path = JoinPath(path, kManifestName);
  absl::StatusOr<ManifestFile> file = ReadManifestFile(file_system, file_path);
  if (!file.ok()) return file.status();
  checkpoint::v1::Checkpoint message;
  if (!message.ParseFromString(file->manifest)) {
    return absl::InvalidArgumentError(absl::StrCat(file_path, ": no message"));
  }
  edit(&message);
  const std::string manifest = message.SerializeAsString();
  return ReplaceFile(
      file_path,
      EncodeEnvelope(file->envelope.major, file->envelope.minor, manifest) +
          manifest,
      file_system);
}

absl::Status ReplaceFile(const std::string& path, absl::string_view bytes,
                         FileSystem* file_system) {
  const std::string temporary = absl::StrCat(path, ".rewritten");
  absl::Status status = RemoveRecursively(file_system, temporary);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->CreateExclusive(temporary, 0444);
  if (!file.ok()) return file.status();
  status = WriteAll(file->get(), 0, bytes);
  status.Update((*file)->Close());
  if (!status.ok()) return status;
  return file_system->Rename(temporary, path);
}

absl::StatusOr<std::string> FileContent(const std::string& path,
                                        FileSystem* file_system) {
  return ReadSmallFile(file_system, path, size_t{1} << 30);
}

}  // namespace reprise
