#include "format/testing/full_snapshot.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/envelope.h"
#include "format/manifest_file.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v2/items.h"
#include "format/v2/tensor_list.h"
#include "format/v2/tensor_table.h"
#include "format/v2/value_digest.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;

void AddTensors(float value, Snapshot* snapshot) {
  // One storage under two names.
  Tensor embedding =
      FloatTensor("embed.weight", {3, 2}, {value, 2, 3, 4, 5, -value});
  auto owner = std::make_shared<Tensor>(embedding);
  Tensor head = Tensor::Shared("head.weight", DType::kF32, {3, 2}, owner,
                               embedding.data());
  snapshot->parameters.push_back(embedding);
  snapshot->parameters.push_back(head);
  // Channels-last.
  Tensor conv = BytesTensor("conv.weight", DType::kBF16, {2, 2, 1, 2},
                            absl::StrCat("0123456789abcde", 1));
  snapshot->parameters.push_back(
      Tensor::Strided("conv.weight", DType::kBF16, {2, 2, 1, 2}, {4, 1, 4, 2},
                      std::make_shared<Tensor>(conv), conv.data()));
  snapshot->masters = {
      FloatTensor("conv.weight", {2, 2, 1, 2}, std::vector<float>(8, value))};
  snapshot->ema_weights = {
      FloatTensor("fc.weight", {2, 3}, std::vector<float>(6, value * 0.9f)),
      FloatTensor("norm.mean", {}, {value * 2})};
  snapshot->user_tensors = {BytesTensor("replay", DType::kU8, {3}, "abc"),
                            BytesTensor("nothing", DType::kF64, {3, 0, 2}, "")};
}

void AddValues(uint64_t step, Snapshot* snapshot) {
  snapshot->optimizer->state_dtype = DType::kF32;
  snapshot->optimizer->groups[0].pattern = ".*weight";
  snapshot->schedule->parameters = {{"cycles", 1}, {"power", 0.5}};
  snapshot->schedule->state = PlateauState{0.25, 1, 2, 0.5};
  snapshot->mode = ModelMode{true, {"backbone.norm"}};
  snapshot->frozen = std::vector<std::string>{"embed.weight", "head.weight"};
  snapshot->accumulation = AccumulationState{0, 4};
  snapshot->ema = EmaState{0.99, "ramp-v1", step};
  snapshot->clip = ClipState{ClipState::Kind::kNorm, 1.0, 2.0};
  snapshot->counters = CounterState{step - step / 10, step / 10, step * 10};
  snapshot->fingerprint =
      DataFingerprint{"xxh3-128-files-v1", "fingerprint 0123", 1000};
  snapshot->evaluation = EvaluationState{
      true, EvaluationState::Result{
                step / 2, {{"accuracy", 0.5}, {"ema/accuracy", 0.75}}}};
  snapshot->best = BestState{"accuracy", true, 0.5, step / 2};
  snapshot->early_stop = EarlyStopState{5, 0.001, 2, 0.5};
  snapshot->user = {{"bytes", std::vector<uint8_t>{0, 255}},
                    {"count", uint64_t{1} << 63},
                    {"delta", int64_t{-5}},
                    {"flag", false},
                    {"ratio", 0.1},
                    {"text", std::string()}};
  snapshot->witness = WitnessState{"next samples 012",
                                   {{"decay", 0.001}, {"no_decay", 0.002}},
                                   65536.0f,
                                   {{"cpu", "first draws 0123"}}};
  snapshot->config.push_back(
      {"run.folder", "run", ResumeRule::RECORDED, std::nullopt});
}

}  // namespace

Snapshot FullSnapshot(uint64_t step) {
  Snapshot snapshot = SmallSnapshot(step);
  const bool no_moments =
      snapshot.Find(Item::OPTIM_MOMENTS)->presence != Presence::PRESENCE_SAVED;
  AddTensors(static_cast<float>(step), &snapshot);
  AddValues(step, &snapshot);
  snapshot.sampler->cursor = step * 10;
  for (Item item : ItemsOfV2()) snapshot.MarkSaved(item);
  snapshot.MarkNotApplicable(Item::RNG_CUDA, "the device is cpu");
  snapshot.MarkEmpty(Item::LOADER_INFLIGHT);
  snapshot.MarkEmpty(Item::ACCUM_GRADS);
  if (no_moments) snapshot.MarkEmpty(Item::OPTIM_MOMENTS);
  return snapshot;
}

Snapshot FullSnapshotInStep(uint64_t step, uint32_t micro) {
  Snapshot snapshot = FullSnapshot(step);
  snapshot.accumulation->count = micro;
  snapshot.gradients = {FloatTensor("fc.bias", {2}, {65536, -65536})};
  snapshot.MarkSaved(Item::ACCUM_GRADS);
  return snapshot;
}

Snapshot SmallestSnapshotV2() {
  Snapshot snapshot;
  snapshot.run_id = "0123456789abcdef0123456789abcdef";
  snapshot.attempt = 1;
  snapshot.step = 1;
  snapshot.architecture = "m";
  snapshot.parameters = {FloatTensor("w", {2}, {1, -2})};
  for (Item item : ItemsOfV2()) snapshot.MarkNotApplicable(item, "-");
  snapshot.MarkSaved(Item::MODEL_PARAMS);
  snapshot.MarkSaved(Item::COUNTERS_STEP);
  return snapshot;
}

std::string TensorDifference(const Snapshot& a, const Snapshot& b) {
  const std::vector<ListedTensor> of_a = ListTensors(a);
  const std::vector<ListedTensor> of_b = ListTensors(b);
  if (of_a.size() != of_b.size()) {
    return absl::StrCat(of_a.size(), " and ", of_b.size(), " tensors");
  }
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Tensor& x = *of_a[i].tensor;
    const Tensor& y = *of_b[i].tensor;
    const std::string name = absl::StrCat(of_a[i].name, " ", of_a[i].part, " ");
    if (of_a[i].item != of_b[i].item || of_a[i].name != of_b[i].name ||
        of_a[i].part != of_b[i].part) {
      return name + "name";
    }
    if (x.dtype() != y.dtype()) return name + "dtype";
    if (x.shape() != y.shape()) return name + "shape";
    if (x.DimensionOrder() != y.DimensionOrder()) return name + "order";
    std::string bytes_x(x.num_bytes(), '\0');
    std::string bytes_y(y.num_bytes(), '\0');
    if (!x.CopyBytes(0, bytes_x.size(), &bytes_x[0]).ok() ||
        !y.CopyBytes(0, bytes_y.size(), &bytes_y[0]).ok()) {
      return name + "no data";
    }
    if (bytes_x != bytes_y) return name + "bytes";
  }
  return "";
}

v2::ItemRecord* RecordOfV2(v2::Manifest* message, Item item) {
  for (v2::ItemRecord& record : *message->mutable_inventory()) {
    if (record.item() == item) return &record;
  }
  v2::ItemRecord* record = message->add_inventory();
  record->set_item(item);
  record->set_as_of_step(message->step());
  return record;
}

std::string EditedManifestV2(const std::string& manifest,
                             const std::function<void(v2::Manifest*)>& edit,
                             Repair repair) {
  v2::Manifest message;
  if (!message.ParseFromString(manifest)) return "";
  edit(&message);
  if (repair == Repair::kEnvelopeAndValue) {
    absl::StatusOr<std::vector<ShardInfo>> shards = DecodeShards(message);
    absl::StatusOr<std::vector<TableEntry>> entries =
        shards.ok() ? DecodeTable(message.tensors(), *shards)
                    : absl::StatusOr<std::vector<TableEntry>>(shards.status());
    // A table that breaks its own rules is refused before the digest.
    if (entries.ok()) message.set_value_digest(ValueDigest(message, *entries));
  }
  return message.SerializeAsString();
}

absl::Status RewriteManifestV2(const std::string& path,
                               const std::function<void(v2::Manifest*)>& edit,
                               Repair repair, FileSystem* file_system) {
  const std::string file_path = JoinPath(path, kManifestName);
  absl::StatusOr<ManifestFile> file = ReadManifestFile(file_system, file_path);
  if (!file.ok()) return file.status();
  const std::string manifest = EditedManifestV2(file->manifest, edit, repair);
  return ReplaceFile(
      file_path,
      EncodeEnvelope(file->envelope.major, file->envelope.minor, manifest) +
          manifest,
      file_system);
}

}  // namespace reprise
