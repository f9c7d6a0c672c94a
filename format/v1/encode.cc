#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/codec.h"
#include "format/v1/fields.h"
#include "format/v1/validate.h"
#include "format/v1/wire_scan.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {
namespace {

namespace v1 = ::reprise::checkpoint::v1;

absl::Status TooLarge(uint64_t bytes) {
  return MakeRefusal(Refusal::LIMIT,
                     absl::StrCat("the manifest would have ", bytes,
                                  " bytes or more; format "
                                  "version 1 holds at most ",
                                  kV1MaxManifestBytes));
}

// Compared before any tensor is copied, so that a state that is too large
// costs nothing but this message.
absl::Status CheckTensorTotal(const Snapshot& snapshot) {
  uint64_t total = 0;
  auto add = [&total](const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      // Valid already; the sum of two such numbers fits.
      total = std::min<uint64_t>(total + *CheckedTensorBytes(tensor),
                                 uint64_t{1} << 62);
    }
  };
  add(snapshot.parameters);
  add(snapshot.buffers);
  if (snapshot.optimizer.has_value()) {
    for (const ParameterState& state : snapshot.optimizer->states) {
      add(state.moments);
    }
  }
  return total > kV1MaxManifestBytes ? TooLarge(total) : absl::OkStatus();
}

void EncodeTensor(const Tensor& tensor, v1::Tensor* message) {
  message->set_name(tensor.name());
  message->set_dtype(static_cast<v1::DType>(tensor.dtype()));
  for (int64_t extent : tensor.shape()) {
    message->add_shape(static_cast<uint64_t>(extent));
  }
  if (tensor.num_bytes() > 0) {
    message->set_data(tensor.data(), tensor.num_bytes());
  }
}

void EncodeRun(const Snapshot& snapshot, v1::Checkpoint* message) {
  message->mutable_run()->set_run_id(snapshot.run_id);
  message->mutable_run()->set_attempt(snapshot.attempt);
  if (snapshot.parent.has_value()) {
    v1::Parent* parent = message->mutable_run()->mutable_parent();
    parent->set_step(snapshot.parent->step);
    parent->set_manifest_digest(snapshot.parent->manifest_digest);
  }
  message->set_step(snapshot.step);
  message->mutable_about()->set_writer(snapshot.writer);
  message->mutable_about()->set_created_unix_nanos(snapshot.created_unix_nanos);
  message->mutable_about()->set_host(snapshot.host);
}

void EncodeInventory(const Snapshot& snapshot, v1::Checkpoint* message) {
  std::vector<const ItemRecord*> records;
  for (const ItemRecord& record : snapshot.inventory) {
    records.push_back(&record);
  }
  std::sort(records.begin(), records.end(),
            [](const ItemRecord* a, const ItemRecord* b) {
              return a->item < b->item;
            });
  for (const ItemRecord* record : records) {
    v1::ItemRecord* out = message->add_inventory();
    out->set_item(record->item);
    out->set_presence(record->presence);
    out->set_as_of_step(record->as_of_step);
    out->set_reason(record->reason);
  }
}

void EncodeOptimizer(const Snapshot& snapshot, FieldExchange* exchange,
                     v1::Optimizer* message) {
  OptimizerState optimizer;
  optimizer.kind = snapshot.optimizer->kind;
  optimizer.arithmetic = snapshot.optimizer->arithmetic;
  v1_internal::ExchangeOptimizer(exchange, message, &optimizer);
  for (ParameterGroup group : snapshot.optimizer->groups) {
    v1::ParameterGroup* out = message->add_groups();
    v1_internal::ExchangeGroup(exchange, snapshot, out, &group);
    for (const std::string& name : group.parameters) out->add_parameters(name);
  }
  for (ParameterState state : snapshot.optimizer->states) {
    v1::ParameterState* out = message->add_states();
    v1_internal::ExchangeParameterState(exchange, out, &state);
    for (const Tensor& moment : state.moments) {
      EncodeTensor(moment, out->add_moments());
    }
  }
}

void EncodeSampler(const Snapshot& snapshot, FieldExchange* exchange,
                   v1::Sampler* message) {
  SamplerState sampler = *snapshot.sampler;
  v1_internal::BatchPosition position;
  if (IsSaved(snapshot, Item::SAMPLER_CURSOR)) {
    const uint64_t per_epoch = SamplesPerEpoch(sampler);
    position.epoch = sampler.cursor / per_epoch;
    position.batch_index = sampler.cursor % per_epoch / sampler.batch_size;
  }
  v1_internal::ExchangeSampler(exchange, message, &sampler, &position);
}

void EncodeConfig(const Snapshot& snapshot, v1::Checkpoint* message) {
  std::vector<const ConfigField*> fields;
  for (const ConfigField& field : snapshot.config) fields.push_back(&field);
  std::sort(fields.begin(), fields.end(),
            [](const ConfigField* a, const ConfigField* b) {
              return a->path < b->path;
            });
  for (const ConfigField* field : fields) {
    v1::ConfigField* out = message->mutable_config()->add_fields();
    out->set_path(field->path);
    out->set_value(field->value);
    out->set_rule(field->rule);
    if (field->previous.has_value()) out->set_previous(*field->previous);
  }
}

absl::Status EncodeMessage(const Snapshot& snapshot, v1::Checkpoint* message) {
  FieldExchange exchange(FieldExchange::Direction::kEncode, &snapshot);
  EncodeRun(snapshot, message);
  EncodeInventory(snapshot, message);
  if (IsSaved(snapshot, Item::MODEL_PARAMS)) {
    message->mutable_model()->set_architecture(snapshot.architecture);
    message->mutable_model()->set_initialisation(snapshot.initialisation);
  }
  for (const Tensor& tensor : snapshot.parameters) {
    EncodeTensor(tensor, message->mutable_model()->add_parameters());
  }
  for (const Tensor& tensor : snapshot.buffers) {
    EncodeTensor(tensor, message->mutable_model()->add_buffers());
  }
  if (snapshot.optimizer.has_value()) {
    EncodeOptimizer(snapshot, &exchange, message->mutable_optimizer());
  }
  if (snapshot.schedule.has_value()) {
    ScheduleState schedule = *snapshot.schedule;
    // The struct has no way to say "no unit".
    if (!IsSaved(snapshot, Item::SCHED_UNIT)) {
      schedule.unit = static_cast<ScheduleState::Unit>(0);
    }
    v1_internal::ExchangeSchedule(&exchange, message->mutable_schedule(),
                                  &schedule);
  }
  if (snapshot.scaler.has_value()) {
    GradScalerState scaler = *snapshot.scaler;
    v1_internal::ExchangeScaler(&exchange, message->mutable_scaler(), &scaler);
  }
  if (snapshot.sampler.has_value()) {
    EncodeSampler(snapshot, &exchange, message->mutable_sampler());
  }
  for (const GeneratorState& generator : snapshot.generators) {
    v1::Generator* out = message->mutable_random()->add_generators();
    out->set_name(generator.name);
    out->set_algorithm(generator.algorithm);
    out->set_library(generator.library);
    out->set_state(generator.state);
  }
  EncodeConfig(snapshot, message);
  if (snapshot.environment.has_value()) {
    EnvironmentState environment = *snapshot.environment;
    v1_internal::ExchangeEnvironment(&exchange, message->mutable_environment(),
                                     &environment);
  }
  return exchange.status();
}

// What version 1 has no place for is never dropped in silence.
absl::Status CheckNoNewerContent(const Snapshot& snapshot) {
  Item newer = Item::ITEM_UNSPECIFIED;
  if (!snapshot.masters.empty()) newer = Item::MASTER;
  if (!snapshot.gradients.empty()) newer = Item::ACCUM_GRADS;
  if (snapshot.micro_step() != 0) newer = Item::ACCUM_COUNT;
  if (!snapshot.ema_weights.empty() || snapshot.ema.has_value()) {
    newer = Item::EMA_WEIGHTS;
  }
  if (snapshot.frozen.has_value() && !snapshot.frozen->empty()) {
    newer = Item::FROZEN_FLAGS;
  }
  if (snapshot.mode.has_value() && !snapshot.mode->training) newer = Item::MODE;
  if (snapshot.best.has_value()) newer = Item::BEST;
  if (snapshot.early_stop.has_value()) newer = Item::EARLY_STOP;
  if (snapshot.evaluation.has_value() && snapshot.evaluation->pending) {
    newer = Item::EVAL;
  }
  if (!snapshot.user.empty() || !snapshot.user_tensors.empty()) {
    newer = Item::USER;
  }
  if (snapshot.sampler.has_value() &&
      (snapshot.sampler->tail != SamplerState::Tail::kDrop ||
       !snapshot.sampler->in_flight.empty())) {
    newer = Item::DATA_BATCH;
  }
  if (snapshot.schedule.has_value() &&
      (snapshot.schedule->state.has_value() ||
       !snapshot.schedule->parameters.empty())) {
    newer = Item::SCHED_STATE;
  }
  if (newer == Item::ITEM_UNSPECIFIED) return absl::OkStatus();
  return MakeRefusal(Refusal::INVALID_VALUE,
                     absl::StrCat(TextOf(newer),
                                  ": version 1 cannot hold it; save as "
                                  "version 2"));
}

}  // namespace

absl::StatusOr<std::string> EncodeV1(const Snapshot& snapshot) {
  absl::Status status = ValidateForV1(snapshot);
  if (status.ok()) status = CheckNoNewerContent(snapshot);
  if (status.ok()) status = CheckTensorTotal(snapshot);
  if (!status.ok()) return status;
  v1::Checkpoint message;
  status = EncodeMessage(snapshot, &message);
  if (!status.ok()) return status;
  const size_t size = message.ByteSizeLong();
  if (size > kV1MaxManifestBytes) return TooLarge(size);
  // The schema has no maps, so protobuf writes equal messages as equal bytes.
  std::string manifest;
  if (!message.SerializeToString(&manifest)) {
    return MakeRefusal(Refusal::LIMIT,
                       absl::StrCat("protobuf could not serialise a manifest "
                                    "of ",
                                    size, " bytes"));
  }
  // What the reader refuses is not written: number of elements, UTF-8.
  status =
      ScanWire(manifest, v1::Checkpoint::descriptor(), UnknownFields::kRefuse);
  if (!status.ok()) {
    return MakeRefusal(RefusalOf(status) == Refusal::LIMIT
                           ? Refusal::LIMIT
                           : Refusal::INVALID_VALUE,
                       status.message());
  }
  return manifest;
}

}  // namespace reprise
