#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/codec.h"
#include "format/v1/fields.h"
#include "format/v1/items.h"
#include "format/v1/validate.h"
#include "format/v1/wire_scan.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {
namespace {

namespace v1 = ::reprise::checkpoint::v1;

constexpr uint64_t kMaxUint64 = std::numeric_limits<uint64_t>::max();

absl::Status Absent(Item item, absl::string_view field) {
  return MakeRefusal(
      Refusal::MISSING_ITEM,
      absl::StrCat(TextOf(item), ": field ", field, " is absent"));
}

// Builds a snapshot whose tensors refer to the parsed message.
class Decoder {
 public:
  Decoder(std::shared_ptr<v1::Checkpoint> message, uint32_t minor)
      : message_(std::move(message)),
        minor_(minor),
        exchange_(FieldExchange::Direction::kDecode, &snapshot_) {}

  absl::StatusOr<Snapshot> Decode() {
    absl::Status status = Run();
    if (status.ok()) status = Inventory();
    // The records say which fields must be there.
    if (status.ok()) status = ValidateInventoryForV1(snapshot_);
    if (status.ok()) status = Model();
    if (status.ok()) status = Optimizer();
    if (status.ok()) status = Values();
    if (status.ok()) status = exchange_.status();
    if (status.ok()) status = Sampler();
    if (status.ok()) status = ValidateForV1(snapshot_);
    if (!status.ok()) return status;
    return std::move(snapshot_);
  }

 private:
  absl::Status Run() {
    const v1::RunIdentity& run = message_->run();
    if (!message_->has_step()) return Absent(Item::COUNTERS_STEP, "step");
    if (run.run_id().empty()) return Absent(Item::RUN, "run.run_id");
    if (!run.has_attempt()) return Absent(Item::RUN, "run.attempt");
    snapshot_.run_id = run.run_id();
    snapshot_.attempt = run.attempt();
    snapshot_.step = message_->step();
    if (run.has_parent()) {
      if (!run.parent().has_step()) return Absent(Item::RUN, "run.parent.step");
      snapshot_.parent =
          ParentRef{run.parent().step(), run.parent().manifest_digest()};
    }
    snapshot_.writer = message_->about().writer();
    snapshot_.created_unix_nanos = message_->about().created_unix_nanos();
    snapshot_.host = message_->about().host();
    return absl::OkStatus();
  }

  absl::Status Inventory() {
    for (const v1::ItemRecord& record : message_->inventory()) {
      const std::vector<Item>& known = ItemsOfV1();
      const bool unknown =
          std::find(known.begin(), known.end(), record.item()) == known.end();
      // A later minor version may record more.
      if (unknown && minor_ > kV1Minor) continue;
      if (!record.has_as_of_step()) {
        return Absent(record.item(), "inventory.as_of_step");
      }
      snapshot_.inventory.push_back({record.item(), record.presence(),
                                     record.as_of_step(), record.reason()});
    }
    return absl::OkStatus();
  }

  absl::Status Model() {
    snapshot_.architecture = message_->model().architecture();
    snapshot_.initialisation = message_->model().initialisation();
    absl::Status status =
        Tensors(Item::MODEL_PARAMS, message_->model().parameters(),
                &snapshot_.parameters);
    if (!status.ok()) return status;
    return Tensors(Item::MODEL_BUFFERS, message_->model().buffers(),
                   &snapshot_.buffers);
  }

  absl::Status Optimizer() {
    if (!message_->has_optimizer()) return absl::OkStatus();
    v1::Optimizer* message = message_->mutable_optimizer();
    OptimizerState& optimizer = snapshot_.optimizer.emplace();
    v1_internal::ExchangeOptimizer(&exchange_, message, &optimizer);
    for (v1::ParameterGroup& in : *message->mutable_groups()) {
      ParameterGroup& group = optimizer.groups.emplace_back();
      v1_internal::ExchangeGroup(&exchange_, snapshot_, &in, &group);
      group.parameters.assign(in.parameters().begin(), in.parameters().end());
    }
    for (v1::ParameterState& in : *message->mutable_states()) {
      ParameterState& state = optimizer.states.emplace_back();
      v1_internal::ExchangeParameterState(&exchange_, &in, &state);
      absl::Status status =
          Tensors(Item::OPTIM_MOMENTS, in.moments(), &state.moments);
      if (!status.ok()) {
        return Annotate(status, absl::StrCat("parameter ", in.parameter()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Values() {
    if (message_->has_schedule()) {
      v1_internal::ExchangeSchedule(&exchange_, message_->mutable_schedule(),
                                    &snapshot_.schedule.emplace());
    }
    if (message_->has_scaler()) {
      v1_internal::ExchangeScaler(&exchange_, message_->mutable_scaler(),
                                  &snapshot_.scaler.emplace());
    }
    if (message_->has_environment()) {
      v1_internal::ExchangeEnvironment(&exchange_,
                                       message_->mutable_environment(),
                                       &snapshot_.environment.emplace());
    }
    for (const v1::Generator& in : message_->random().generators()) {
      snapshot_.generators.push_back(
          {in.name(), in.algorithm(), in.library(), in.state()});
    }
    for (const v1::ConfigField& in : message_->config().fields()) {
      ConfigField& field = snapshot_.config.emplace_back();
      field.path = in.path();
      field.value = in.value();
      field.rule = in.rule();
      if (in.has_previous()) field.previous = in.previous();
    }
    return absl::OkStatus();
  }

  absl::Status Sampler() {
    if (!message_->has_sampler()) return absl::OkStatus();
    SamplerState& sampler = snapshot_.sampler.emplace();
    v1_internal::BatchPosition position;
    v1_internal::ExchangeSampler(&exchange_, message_->mutable_sampler(),
                                 &sampler, &position);
    if (!exchange_.status().ok() || !IsSaved(snapshot_, Item::SAMPLER_CURSOR) ||
        sampler.batch_size == 0 || sampler.dataset_size < sampler.batch_size) {
      return exchange_.status();  // or ValidateForV1 refuses the sizes
    }
    const uint64_t batches = sampler.dataset_size / sampler.batch_size;
    if (position.batch_index >= batches) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat(TextOf(Item::SAMPLER_CURSOR), ": batch index ",
                       position.batch_index, " in an epoch of ", batches,
                       " batches (the end of an epoch is batch 0 of the "
                       "next)"));
    }
    const uint64_t per_epoch = SamplesPerEpoch(sampler);
    const uint64_t into_epoch = position.batch_index * sampler.batch_size;
    if (position.epoch > (kMaxUint64 - into_epoch) / per_epoch) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat(TextOf(Item::SAMPLER_CURSOR), ": batch ",
                       position.batch_index, " of epoch ", position.epoch,
                       " of ", per_epoch, " samples is beyond 2^64 samples"));
    }
    sampler.cursor = position.epoch * per_epoch + into_epoch;
    return absl::OkStatus();
  }

  absl::Status Tensors(
      Item item, const google::protobuf::RepeatedPtrField<v1::Tensor>& messages,
      std::vector<Tensor>* tensors) {
    tensors->reserve(messages.size());
    for (const v1::Tensor& message : messages) {
      std::vector<int64_t> shape;
      for (uint64_t extent : message.shape()) {
        if (extent >
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          return MakeRefusal(Refusal::LIMIT,
                             absl::StrCat(TextOf(item), ": tensor ",
                                          message.name(), ": extent ", extent));
        }
        shape.push_back(static_cast<int64_t>(extent));
      }
      Tensor tensor =
          Tensor::Shared(message.name(), static_cast<DType>(message.dtype()),
                         std::move(shape), message_, message.data().data());
      absl::StatusOr<uint64_t> bytes = CheckedTensorBytes(tensor);
      if (!bytes.ok()) return Annotate(bytes.status(), TextOf(item));
      if (*bytes != message.data().size()) {
        return MakeRefusal(
            Refusal::CORRUPT,
            absl::StrCat(TextOf(item), ": tensor ", message.name(),
                         ": expected ", *bytes, " bytes by its shape, found ",
                         message.data().size()));
      }
      tensors->push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<v1::Checkpoint> message_;
  const uint32_t minor_;
  Snapshot snapshot_;
  FieldExchange exchange_;
};

}  // namespace

absl::StatusOr<Snapshot> DecodeV1(std::string manifest, uint32_t minor) {
  absl::Status status = ScanWire(
      manifest, v1::Checkpoint::descriptor(),
      minor > kV1Minor ? UnknownFields::kAllow : UnknownFields::kRefuse);
  if (!status.ok()) return status;
  auto message = std::make_shared<v1::Checkpoint>();
  if (!message->ParseFromString(manifest)) {
    return MakeRefusal(Refusal::CORRUPT,
                       "the manifest is not a message of format version 1");
  }
  std::string().swap(manifest);
  return Decoder(std::move(message), minor).Decode();
}

}  // namespace reprise
