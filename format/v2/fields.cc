#include "format/v2/fields.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/field_exchange.h"
#include "format/v2/items.h"
#include "format/v2/names.h"
#include "format/v2/problem.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using Direction = FieldExchange::Direction;

// Lists of submessages, sorted by `key` when they are written.
template <typename T, typename Key>
std::vector<T> SortedBy(std::vector<T> list, Key key) {
  std::stable_sort(list.begin(), list.end(),
                   [&](const T& a, const T& b) { return key(a) < key(b); });
  return list;
}

void PutNumbers(const std::vector<NamedNumber>& numbers,
                google::protobuf::RepeatedPtrField<v2::NamedNumber>* out) {
  for (const NamedNumber& number : numbers) {
    v2::NamedNumber* message = out->Add();
    message->set_name(number.name);
    message->set_value(number.value);
  }
}

std::vector<NamedNumber> GetNumbers(
    const google::protobuf::RepeatedPtrField<v2::NamedNumber>& in) {
  std::vector<NamedNumber> numbers;
  for (const v2::NamedNumber& message : in) {
    numbers.push_back({message.name(), message.value()});
  }
  return numbers;
}

// Both directions of everything that is a single field; the rest has a Put and
// a Get. `values` is a copy when encoding.
class Exchange {
 public:
  Exchange(Direction direction, Snapshot* values, v2::Manifest* manifest)
      : encode_(direction == Direction::kEncode),
        values_(values),
        manifest_(manifest),
        fields_(direction, values) {}

  absl::Status Run() {
    Model();
    Optimizer();
    Training();
    Data();
    Evaluation();
    Environment();
    absl::Status status = fields_.status();
    status.Update(status_);
    return status;
  }

 private:
  // The value to exchange, made first when decoding finds its message; null:
  // there is none. `field` is the message's field in the manifest.
  template <typename T>
  T* Part(std::optional<T>* value, bool in_message) {
    if (encode_) return value->has_value() ? &**value : nullptr;
    if (!in_message) return nullptr;
    // Not emplace(): clang 14 does not see that a nested T can be made so.
    *value = T();
    return &**value;
  }

  bool Saved(Item item) const { return IsSavedV2(*values_, item); }

  std::vector<std::string> Unpacked(absl::string_view what,
                                    const v2::Names& names) {
    absl::StatusOr<std::vector<std::string>> list = UnpackNames(what, names);
    status_.Update(list.status());
    return list.ok() ? *std::move(list) : std::vector<std::string>();
  }

  // A list that is there, perhaps without names, when `item` is SAVED.
  void PutFrozen() {
    if (!values_->frozen.has_value()) return;
    std::vector<std::string> sorted = *values_->frozen;
    std::sort(sorted.begin(), sorted.end());
    PackNames(sorted, manifest_->mutable_model()->mutable_frozen());
  }

  void Model() {
    if (!encode_ && !manifest_->has_model()) return;
    const bool any = !values_->architecture.empty() ||
                     !values_->initialisation.empty() ||
                     values_->mode.has_value() || values_->frozen.has_value();
    if (encode_ && !any) return;
    v2::Model* message = manifest_->mutable_model();
    fields_.Open(message, "model");
    fields_.Field(Item::MODEL_PARAMS, "architecture", &values_->architecture);
    fields_.Optional("initialisation", &values_->initialisation);
    if (ModelMode* mode = Part(
            &values_->mode, message->mode() != v2::Model::MODE_UNSPECIFIED)) {
      int number = mode->training ? v2::Model::TRAIN : v2::Model::EVAL;
      fields_.EnumField(Item::MODE, "mode", &number);
      mode->training = number == v2::Model::TRAIN;
      if (!encode_) {
        mode->modules_in_other_mode = Unpacked(
            "model.modules_in_other_mode", message->modules_in_other_mode());
      } else if (!mode->modules_in_other_mode.empty()) {
        std::vector<std::string> sorted = mode->modules_in_other_mode;
        std::sort(sorted.begin(), sorted.end());
        PackNames(sorted, message->mutable_modules_in_other_mode());
      }
    }
    if (encode_) {
      PutFrozen();
    } else if (message->has_frozen()) {
      values_->frozen = Unpacked("model.frozen", message->frozen());
    }
  }

  void Optimizer() {
    OptimizerState* optimizer =
        Part(&values_->optimizer, manifest_->has_optimizer());
    if (optimizer == nullptr) return;
    v2::Optimizer* message = manifest_->mutable_optimizer();
    fields_.Open(message, "optimizer");
    fields_.Field(Item::OPTIM_KIND, "kind", &optimizer->kind);
    fields_.Field(Item::OPTIM_KIND, "arithmetic", &optimizer->arithmetic);
    int dtype = static_cast<int>(
        optimizer->state_dtype.value_or(static_cast<DType>(0)));
    fields_.EnumField(Item::OPTIM_DTYPE, "state_dtype", &dtype);
    if (dtype != 0) optimizer->state_dtype = static_cast<DType>(dtype);
    if (encode_) {
      PutGroups(*optimizer, message);
    } else {
      GetGroups(message, optimizer);
    }
  }

  void GroupFields(v2::ParameterGroup* message, ParameterGroup* group) {
    fields_.Open(message, absl::StrCat("optimizer.groups[", group->name, "]"));
    fields_.Optional("pattern", &group->pattern);
    fields_.Field(Item::SCHED_APPLIED, "lr", &group->lr);
    fields_.Field(Item::SCHED_BASE, "base_lr", &group->base_lr);
    fields_.Field(Item::OPTIM_GROUPS, "weight_decay", &group->weight_decay);
    fields_.Optional("beta1", &group->beta1);
    fields_.Optional("beta2", &group->beta2);
    fields_.Optional("eps", &group->eps);
    fields_.Optional("momentum", &group->momentum);
    fields_.Optional("dampening", &group->dampening);
    fields_.Optional("nesterov", &group->nesterov);
  }

  void PutGroups(const OptimizerState& optimizer, v2::Optimizer* message) {
    std::map<std::string, uint64_t> steps;
    for (const ParameterState& state : optimizer.states) {
      steps[state.parameter] = state.step;
    }
    for (ParameterGroup group : optimizer.groups) {
      v2::ParameterGroup* out = message->add_groups();
      out->set_name(group.name);
      GroupFields(out, &group);
      if (Saved(Item::OPTIM_IDENTITY)) out->mutable_parameters();
      PackNamesOf(group.parameters, out);
      if (!Saved(Item::OPTIM_STEP)) continue;
      for (const std::string& name : group.parameters) {
        auto found = steps.find(name);
        if (found == steps.end()) {
          status_.Update(v2_internal::Missing(
              Item::OPTIM_STEP,
              absl::StrCat("parameter ", name, " has no state")));
          return;
        }
        out->add_steps(found->second);
      }
    }
  }

  static void PackNamesOf(const std::vector<std::string>& names,
                          v2::ParameterGroup* out) {
    if (!names.empty()) PackNames(names, out->mutable_parameters());
  }

  void GetGroups(v2::Optimizer* message, OptimizerState* optimizer) {
    const bool states = Saved(Item::OPTIM_STEP) || Saved(Item::OPTIM_MOMENTS);
    for (v2::ParameterGroup& in : *message->mutable_groups()) {
      ParameterGroup& group = optimizer->groups.emplace_back();
      group.name = in.name();
      GroupFields(&in, &group);
      group.parameters = Unpacked(
          absl::StrCat("group ", group.name, ": parameters"), in.parameters());
      if (Saved(Item::OPTIM_STEP) &&
          in.steps_size() != static_cast<int>(group.parameters.size())) {
        status_.Update(
            MakeRefusal(Refusal::CORRUPT,
                        absl::StrCat("group ", group.name, ": ",
                                     in.steps_size(), " steps of ",
                                     group.parameters.size(), " parameters")));
        return;
      }
      if (!states) continue;
      for (size_t i = 0; i < group.parameters.size(); ++i) {
        ParameterState& state = optimizer->states.emplace_back();
        state.parameter = group.parameters[i];
        if (in.steps_size() > 0) state.step = in.steps(static_cast<int>(i));
      }
    }
  }

  void Training() {
    if (ScheduleState* schedule =
            Part(&values_->schedule, manifest_->has_schedule())) {
      Schedule(manifest_->mutable_schedule(), schedule);
    }
    if (GradScalerState* scaler =
            Part(&values_->scaler, manifest_->has_scaler())) {
      fields_.Open(manifest_->mutable_scaler(), "scaler");
      fields_.Field(Item::SCALER_SCALE, "scale", &scaler->scale);
      fields_.Field(Item::SCALER_GROWTH_TRACKER, "growth_tracker",
                    &scaler->growth_tracker);
      fields_.Field(Item::SCALER_CONFIG, "growth_interval",
                    &scaler->growth_interval);
      fields_.Field(Item::SCALER_CONFIG, "growth_factor",
                    &scaler->growth_factor);
      fields_.Field(Item::SCALER_CONFIG, "backoff_factor",
                    &scaler->backoff_factor);
      fields_.Field(Item::SCALER_CONFIG, "min_scale", &scaler->min_scale);
      fields_.Field(Item::SCALER_CONFIG, "arithmetic", &scaler->arithmetic);
    }
    if (AccumulationState* accumulation =
            Part(&values_->accumulation, manifest_->has_accumulation())) {
      fields_.Open(manifest_->mutable_accumulation(), "accumulation");
      fields_.Field(Item::ACCUM_COUNT, "count", &accumulation->count);
      fields_.Field(Item::ACCUM_COUNT, "per_step", &accumulation->per_step);
    }
    if (EmaState* ema = Part(&values_->ema, manifest_->has_ema())) {
      fields_.Open(manifest_->mutable_ema(), "ema");
      fields_.Field(Item::EMA_CONFIG, "decay", &ema->decay);
      fields_.Optional("ramp", &ema->ramp);
      fields_.Field(Item::EMA_UPDATES, "updates", &ema->updates);
    }
    if (ClipState* clip = Part(&values_->clip, manifest_->has_clip())) {
      fields_.Open(manifest_->mutable_clip(), "clip");
      int kind = static_cast<int>(clip->kind);
      fields_.EnumField(Item::CLIP, "kind", &kind);
      clip->kind = static_cast<ClipState::Kind>(kind);
      fields_.Field(Item::CLIP, "limit", &clip->limit);
      fields_.Optional("norm_type", &clip->norm_type);
    }
    if (CounterState* counters =
            Part(&values_->counters, manifest_->has_counters())) {
      fields_.Open(manifest_->mutable_counters(), "counters");
      fields_.Field(Item::COUNTERS_APPLIED, "applied", &counters->applied);
      fields_.Field(Item::COUNTERS_SKIPPED, "skipped", &counters->skipped);
      fields_.Field(Item::COUNTERS_SAMPLES, "samples", &counters->samples);
    }
  }

  void Schedule(v2::Schedule* message, ScheduleState* schedule) {
    fields_.Open(message, "schedule");
    fields_.Field(Item::SCHED_DEFINITION, "form", &schedule->form);
    fields_.Field(Item::SCHED_DEFINITION, "warmup", &schedule->warmup);
    fields_.Field(Item::SCHED_DEFINITION, "final_fraction",
                  &schedule->final_fraction);
    // The struct has no way to say "no unit".
    int unit = encode_ && !Saved(Item::SCHED_UNIT)
                   ? 0
                   : static_cast<int>(schedule->unit);
    fields_.EnumField(Item::SCHED_UNIT, "unit", &unit);
    schedule->unit = static_cast<ScheduleState::Unit>(unit);
    fields_.Field(Item::SCHED_POSITION, "position", &schedule->position);
    fields_.Field(Item::SCHED_HORIZON, "horizon", &schedule->horizon);
    if (encode_) {
      PutNumbers(SortedBy(schedule->parameters,
                          [](const NamedNumber& n) { return n.name; }),
                 message->mutable_parameters());
    } else {
      schedule->parameters = GetNumbers(message->parameters());
    }
    if (PlateauState* state = Part(&schedule->state, message->has_state())) {
      fields_.Open(message->mutable_state(), "schedule.state");
      fields_.Optional("best", &state->best);
      fields_.Field(Item::SCHED_STATE, "bad_count", &state->bad_count);
      fields_.Field(Item::SCHED_STATE, "cooldown", &state->cooldown);
      fields_.Field(Item::SCHED_STATE, "factor", &state->factor);
    }
  }

  void Data() {
    if (SamplerState* sampler =
            Part(&values_->sampler, manifest_->has_sampler())) {
      v2::Sampler* message = manifest_->mutable_sampler();
      fields_.Open(message, "sampler");
      fields_.Field(Item::SAMPLER_ALGORITHM, "algorithm", &sampler->algorithm);
      fields_.Field(Item::SAMPLER_SEED, "seed", &sampler->seed);
      fields_.Field(Item::SAMPLER_CURSOR, "cursor", &sampler->cursor);
      fields_.Field(Item::SAMPLER_ORDER, "dataset_size",
                    &sampler->dataset_size);
      fields_.Field(Item::DATA_BATCH, "batch_size", &sampler->batch_size);
      int tail = encode_ && !Saved(Item::DATA_BATCH)
                     ? 0
                     : static_cast<int>(sampler->tail);
      fields_.EnumField(Item::DATA_BATCH, "tail", &tail);
      sampler->tail = static_cast<SamplerState::Tail>(tail);
      fields_.Field(Item::RNG_DATA, "stream_algorithm",
                    &sampler->stream_algorithm);
      fields_.Optional("augmentation", &sampler->augmentation);
      if (encode_) {
        for (uint64_t position : sampler->in_flight) {
          message->add_in_flight(position);
        }
      } else {
        sampler->in_flight.assign(message->in_flight().begin(),
                                  message->in_flight().end());
      }
    }
    if (DataFingerprint* fingerprint =
            Part(&values_->fingerprint, manifest_->data().has_fingerprint())) {
      fields_.Open(manifest_->mutable_data()->mutable_fingerprint(),
                   "data.fingerprint");
      fields_.Field(Item::DATA_FINGERPRINT, "algorithm",
                    &fingerprint->algorithm);
      fields_.Field(Item::DATA_FINGERPRINT, "digest", &fingerprint->digest);
      fields_.Field(Item::DATA_FINGERPRINT, "samples", &fingerprint->samples);
    }
    if (encode_) {
      PutGenerators();
    } else {
      const v2::Random& random = manifest_->random();
      if (random.has_cpu()) GetGenerator(random.cpu());
      for (const v2::Generator& in : random.cuda()) GetGenerator(in);
    }
  }

  void PutGenerators() {
    for (const GeneratorState& generator : values_->generators) {
      v2::Random* random = manifest_->mutable_random();
      v2::Generator* out = nullptr;
      if (generator.name != "cpu") {
        out = random->add_cuda();
      } else if (!random->has_cpu()) {
        out = random->mutable_cpu();
      } else {
        status_.Update(v2_internal::Invalid(Item::RNG_CPU,
                                            "two generators are called cpu"));
        return;
      }
      out->set_name(generator.name);
      out->set_algorithm(generator.algorithm);
      out->set_library(generator.library);
      out->set_state(generator.state);
      if (generator.seed.has_value()) out->set_seed(*generator.seed);
      if (generator.offset.has_value()) out->set_offset(*generator.offset);
    }
  }

  void GetGenerator(const v2::Generator& in) {
    GeneratorState& generator = values_->generators.emplace_back();
    generator.name = in.name();
    generator.algorithm = in.algorithm();
    generator.library = in.library();
    generator.state = in.state();
    if (in.has_seed()) generator.seed = in.seed();
    if (in.has_offset()) generator.offset = in.offset();
  }

  void Evaluation() {
    if (EvaluationState* evaluation =
            Part(&values_->evaluation, manifest_->has_evaluation())) {
      v2::Evaluation* message = manifest_->mutable_evaluation();
      fields_.Open(message, "evaluation");
      fields_.Field(Item::EVAL, "pending", &evaluation->pending);
      if (EvaluationState::Result* last =
              Part(&evaluation->last, message->has_last())) {
        v2::EvaluationResult* result = message->mutable_last();
        fields_.Open(result, "evaluation.last");
        fields_.Field(Item::EVAL, "step", &last->step);
        if (encode_) {
          for (const NamedNumber& metric :
               SortedBy(last->metrics,
                        [](const NamedNumber& n) { return n.name; })) {
            v2::Metric* out = result->add_metrics();
            out->set_name(metric.name);
            out->set_value(metric.value);
          }
        } else {
          for (const v2::Metric& in : result->metrics()) {
            last->metrics.push_back({in.name(), in.value()});
          }
        }
      }
    }
    if (BestState* best = Part(&values_->best, manifest_->has_best())) {
      fields_.Open(manifest_->mutable_best(), "best");
      fields_.Field(Item::BEST, "metric", &best->metric);
      int direction =
          best->higher_is_better ? v2::HIGHER_IS_BETTER : v2::LOWER_IS_BETTER;
      fields_.EnumField(Item::BEST, "direction", &direction);
      best->higher_is_better = direction == v2::HIGHER_IS_BETTER;
      fields_.Field(Item::BEST, "value", &best->value);
      fields_.Field(Item::BEST, "step", &best->step);
    }
    if (EarlyStopState* stop =
            Part(&values_->early_stop, manifest_->has_early_stop())) {
      fields_.Open(manifest_->mutable_early_stop(), "early_stop");
      fields_.Field(Item::EARLY_STOP, "patience", &stop->patience);
      fields_.Field(Item::EARLY_STOP, "min_delta", &stop->min_delta);
      fields_.Field(Item::EARLY_STOP, "bad_count", &stop->bad_count);
      fields_.Optional("best", &stop->best);
    }
  }

  void Environment() {
    const bool any = manifest_->has_environment() || manifest_->has_precision();
    if (EnvironmentState* environment = Part(&values_->environment, any)) {
      fields_.Open(manifest_->mutable_environment(), "environment");
      int level = static_cast<int>(environment->level);
      fields_.EnumField(Item::ENVIRONMENT, "level", &level);
      environment->level = static_cast<ResumeLevel>(level);
      fields_.Optional("trainer_version", &environment->trainer_version);
      fields_.Optional("libtorch_version", &environment->libtorch_version);
      fields_.Optional("compiler", &environment->compiler);
      fields_.Field(Item::ENVIRONMENT, "device", &environment->device);
      fields_.Optional("device_name", &environment->device_name);
      fields_.Optional("cpu_capability", &environment->cpu_capability);
      fields_.Field(Item::ENVIRONMENT, "threads", &environment->threads);
      fields_.Field(Item::ENVIRONMENT, "world_size", &environment->world_size);
      fields_.Field(Item::ENVIRONMENT, "kernel_probe",
                    &environment->kernel_probe);
      if (!Saved(Item::ENVIRONMENT)) manifest_->clear_environment();
      fields_.Open(manifest_->mutable_precision(), "precision");
      fields_.Field(Item::PRECISION_FLAGS, "autocast_dtype",
                    &environment->autocast_dtype);
      fields_.Field(Item::PRECISION_FLAGS, "deterministic",
                    &environment->deterministic);
      fields_.Field(Item::PRECISION_FLAGS, "allow_tf32",
                    &environment->allow_tf32);
      if (!Saved(Item::PRECISION_FLAGS)) manifest_->clear_precision();
    }
  }

  const bool encode_;
  Snapshot* const values_;
  v2::Manifest* const manifest_;
  FieldExchange fields_;
  absl::Status status_;
};

void PutConfig(const Snapshot& snapshot, v2::Manifest* manifest) {
  for (const ConfigField& field :
       SortedBy(snapshot.config, [](const ConfigField& f) { return f.path; })) {
    v2::Config* config = manifest->mutable_config();
    v2::ConfigField* out = field.rule == ResumeRule::RECORDED
                               ? config->add_recorded()
                               : config->add_fields();
    out->set_path(field.path);
    out->set_value(field.value);
    out->set_rule(field.rule);
    if (field.previous.has_value()) out->set_previous(*field.previous);
  }
}

absl::Status GetConfig(const v2::Manifest& manifest, Snapshot* snapshot) {
  for (const auto* list :
       {&manifest.config().fields(), &manifest.config().recorded()}) {
    for (const v2::ConfigField& in : *list) {
      if ((in.rule() == ResumeRule::RECORDED) !=
          (list == &manifest.config().recorded())) {
        return v2_internal::Invalid(
            Item::CONFIG,
            absl::StrCat(in.path(), ": in the wrong list for its rule"));
      }
      ConfigField& field = snapshot->config.emplace_back();
      field.path = in.path();
      field.value = in.value();
      field.rule = in.rule();
      if (in.has_previous()) field.previous = in.previous();
    }
  }
  snapshot->config = SortedBy(std::move(snapshot->config),
                              [](const ConfigField& f) { return f.path; });
  return absl::OkStatus();
}

void PutUser(const UserValue& value, v2::UserValue* out) {
  out->set_name(value.name);
  switch (value.value.index()) {
    case 0:
      out->set_int_value(std::get<0>(value.value));
      break;
    case 1:
      out->set_uint_value(std::get<1>(value.value));
      break;
    case 2:
      out->set_double_value(std::get<2>(value.value));
      break;
    case 3:
      out->set_bool_value(std::get<3>(value.value));
      break;
    case 4:
      out->set_string_value(std::get<4>(value.value));
      break;
    default: {
      const std::vector<uint8_t>& bytes = std::get<5>(value.value);
      out->set_bytes_value(std::string(bytes.begin(), bytes.end()));
    }
  }
}

absl::StatusOr<UserValue> GetUser(const v2::UserValue& in) {
  UserValue value;
  value.name = in.name();
  switch (in.value_case()) {
    case v2::UserValue::kIntValue:
      value.value = static_cast<int64_t>(in.int_value());
      return value;
    case v2::UserValue::kUintValue:
      value.value = static_cast<uint64_t>(in.uint_value());
      return value;
    case v2::UserValue::kDoubleValue:
      value.value = in.double_value();
      return value;
    case v2::UserValue::kBoolValue:
      value.value = in.bool_value();
      return value;
    case v2::UserValue::kStringValue:
      value.value = in.string_value();
      return value;
    case v2::UserValue::kBytesValue:
      value.value = std::vector<uint8_t>(in.bytes_value().begin(),
                                         in.bytes_value().end());
      return value;
    case v2::UserValue::VALUE_NOT_SET:
      break;
  }
  return v2_internal::Missing(Item::USER,
                              absl::StrCat(in.name(), " has no value"));
}

void PutWitness(const WitnessState& witness, v2::Witness* out) {
  out->set_next_samples(witness.next_samples);
  PutNumbers(witness.next_lr, out->mutable_next_lr());
  if (witness.next_scale.has_value()) out->set_next_scale(*witness.next_scale);
  for (const WitnessState::Draw& draw : witness.draws) {
    v2::GeneratorDraw* message = out->add_draws();
    message->set_generator(draw.generator);
    message->set_digest(draw.digest);
  }
}

WitnessState GetWitness(const v2::Witness& in) {
  WitnessState witness;
  witness.next_samples = in.next_samples();
  witness.next_lr = GetNumbers(in.next_lr());
  if (in.has_next_scale()) witness.next_scale = in.next_scale();
  for (const v2::GeneratorDraw& draw : in.draws()) {
    witness.draws.push_back({draw.generator(), draw.digest()});
  }
  return witness;
}

void PutRun(const Snapshot& snapshot, v2::Manifest* manifest) {
  v2::RunIdentity* run = manifest->mutable_run();
  run->set_run_id(snapshot.run_id);
  run->set_attempt(snapshot.attempt);
  if (snapshot.parent.has_value()) {
    v2::Parent* parent = run->mutable_parent();
    parent->set_step(snapshot.parent->step);
    parent->set_value_digest(snapshot.parent->value_digest);
    parent->set_manifest_digest(snapshot.parent->manifest_digest);
  }
  manifest->set_step(snapshot.step);
  for (const std::string& feature : snapshot.optional_features) {
    manifest->add_optional_features(feature);
  }
  for (const ItemRecord& record : SortedBy(
           snapshot.inventory, [](const ItemRecord& r) { return r.item; })) {
    v2::ItemRecord* out = manifest->add_inventory();
    out->set_item(record.item);
    out->set_presence(record.presence);
    out->set_as_of_step(record.as_of_step);
    out->set_reason(record.reason);
  }
  for (Item item : snapshot.accepted_missing) {
    manifest->add_accepted_missing(item);
  }
  for (const MigrationRecord& step : snapshot.history) {
    v2::Migration* out = manifest->add_history();
    out->set_from_major(step.from_major);
    out->set_to_major(step.to_major);
    out->set_program(step.program);
    out->set_source_manifest_digest(step.source_manifest_digest);
    for (const std::string& note : step.notes) out->add_notes(note);
  }
  manifest->mutable_about()->set_writer(snapshot.writer);
  manifest->mutable_about()->set_created_unix_nanos(
      snapshot.created_unix_nanos);
  manifest->mutable_about()->set_host(snapshot.host);
}

}  // namespace

absl::Status ToManifest(const Snapshot& snapshot, v2::Manifest* manifest) {
  // Exchange goes both ways and so wants something that it could change.
  Snapshot values = snapshot;
  PutRun(snapshot, manifest);
  absl::Status status = Exchange(Direction::kEncode, &values, manifest).Run();
  if (!status.ok()) return status;
  PutConfig(snapshot, manifest);
  for (const UserValue& value :
       SortedBy(snapshot.user, [](const UserValue& v) { return v.name; })) {
    PutUser(value, manifest->add_user());
  }
  if (snapshot.witness.has_value()) {
    PutWitness(*snapshot.witness, manifest->mutable_witness());
  }
  return absl::OkStatus();
}

absl::Status RecordsFromManifest(const v2::Manifest& manifest,
                                 Snapshot* snapshot) {
  const v2::RunIdentity& run = manifest.run();
  if (!manifest.has_step()) {
    return v2_internal::Missing(Item::COUNTERS_STEP, "field step is absent");
  }
  if (run.run_id().empty()) {
    return v2_internal::Missing(Item::RUN, "field run.run_id is absent");
  }
  if (!run.has_attempt()) {
    return v2_internal::Missing(Item::RUN, "field run.attempt is absent");
  }
  snapshot->run_id = run.run_id();
  snapshot->attempt = run.attempt();
  snapshot->step = manifest.step();
  if (run.has_parent()) {
    if (!run.parent().has_step()) {
      return v2_internal::Missing(Item::RUN, "field run.parent.step is absent");
    }
    snapshot->parent =
        ParentRef{run.parent().step(), run.parent().manifest_digest(),
                  run.parent().value_digest()};
  }
  int last = 0;
  for (const v2::ItemRecord& record : manifest.inventory()) {
    if (!record.has_as_of_step()) {
      return v2_internal::Missing(record.item(),
                                  "field inventory.as_of_step is absent");
    }
    // Sorted, so that equal snapshots have equal manifests and digests.
    if (record.item() < last) {
      return v2_internal::Invalid(record.item(), "its record is out of order");
    }
    last = record.item();
    snapshot->inventory.push_back({record.item(), record.presence(),
                                   record.as_of_step(), record.reason()});
  }
  snapshot->optional_features.assign(manifest.optional_features().begin(),
                                     manifest.optional_features().end());
  for (int item : manifest.accepted_missing()) {
    snapshot->accepted_missing.push_back(static_cast<Item>(item));
  }
  for (const v2::Migration& in : manifest.history()) {
    if (!in.has_from_major() || !in.has_to_major()) {
      return MakeRefusal(Refusal::MISSING_ITEM,
                         "a migration lacks its versions");
    }
    snapshot->history.push_back({in.from_major(),
                                 in.to_major(),
                                 in.program(),
                                 in.source_manifest_digest(),
                                 {in.notes().begin(), in.notes().end()}});
  }
  snapshot->writer = manifest.about().writer();
  snapshot->created_unix_nanos = manifest.about().created_unix_nanos();
  snapshot->host = manifest.about().host();
  return absl::OkStatus();
}

absl::Status ValuesFromManifest(v2::Manifest* manifest, Snapshot* snapshot) {
  absl::Status status = Exchange(Direction::kDecode, snapshot, manifest).Run();
  if (status.ok()) status = GetConfig(*manifest, snapshot);
  for (const v2::UserValue& in : manifest->user()) {
    absl::StatusOr<UserValue> value = GetUser(in);
    status.Update(value.status());
    if (!status.ok()) return status;
    snapshot->user.push_back(*std::move(value));
  }
  if (manifest->has_witness()) {
    snapshot->witness = GetWitness(manifest->witness());
  }
  return status;
}

}  // namespace reprise
