#include "trainer/config/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "trainer/config/fields.h"

namespace reprise {
namespace {

namespace v1 = ::reprise::trainer::v1;

// Sets `field` of `group` unless the user did.
#define REPRISE_DEFAULT(group, field, value) \
  if (!(group)->has_##field()) (group)->set_##field(value)

void ResolveModel(v1::ModelConfig* model) {
  REPRISE_DEFAULT(model, kind, "convnet");
  REPRISE_DEFAULT(model, hidden, 128);
  REPRISE_DEFAULT(model, dropout, model->kind() == "gpt" ? 0.1 : 0.25);
  REPRISE_DEFAULT(model, layers, 4);
  REPRISE_DEFAULT(model, heads, 4);
  REPRISE_DEFAULT(model, dtype, "fp32");
  REPRISE_DEFAULT(model, frozen, "");
  REPRISE_DEFAULT(model, width, 64);
}

void ResolveData(bool gpt, v1::DataConfig* data) {
  REPRISE_DEFAULT(data, name, gpt ? "text" : "fashion_mnist");
  REPRISE_DEFAULT(data, train_limit, 0);
  REPRISE_DEFAULT(data, test_limit, 0);
  REPRISE_DEFAULT(data, batch_size, gpt ? 16 : 128);
  REPRISE_DEFAULT(data, augment, data->name() != "text");
  REPRISE_DEFAULT(data, synthetic_size, 28);
  REPRISE_DEFAULT(data, sequence_length, 128);
  REPRISE_DEFAULT(data, tail, "drop");
  REPRISE_DEFAULT(data, workers, 1);
  REPRISE_DEFAULT(data, prefetch, 2);
}

void ResolveOptimizer(v1::OptimizerConfig* optimizer) {
  REPRISE_DEFAULT(optimizer, kind, "adamw");
  REPRISE_DEFAULT(optimizer, lr, 0.003);
  REPRISE_DEFAULT(optimizer, momentum, 0.9);
  REPRISE_DEFAULT(optimizer, nesterov, false);
  REPRISE_DEFAULT(optimizer, beta1, 0.9);
  REPRISE_DEFAULT(optimizer, beta2, 0.999);
  REPRISE_DEFAULT(optimizer, eps, 1e-8);
  REPRISE_DEFAULT(optimizer, weight_decay, 0.01);
  REPRISE_DEFAULT(optimizer, clip_norm, 1);
  REPRISE_DEFAULT(optimizer, clip_value, 0);
  REPRISE_DEFAULT(optimizer, groups, "");
}

uint64_t DefaultWarmup(uint64_t steps, const v1::ScheduleConfig& schedule) {
  if (schedule.unit() == "samples" || schedule.unit() == "epochs") return 0;
  if (schedule.form() == "one-cycle-v1") return steps / 10 * 3;
  return std::min<uint64_t>(100, steps / 10);
}

void ResolveSchedule(const v1::RunConfig& run, v1::ScheduleConfig* schedule) {
  REPRISE_DEFAULT(schedule, form, "warmup-cosine-v1");
  REPRISE_DEFAULT(schedule, unit, "applied");
  REPRISE_DEFAULT(schedule, warmup, DefaultWarmup(run.steps(), *schedule));
  REPRISE_DEFAULT(schedule, horizon, 0);
  REPRISE_DEFAULT(schedule, final_fraction, 0.01);
  REPRISE_DEFAULT(schedule, step_size, 0);
  REPRISE_DEFAULT(schedule, gamma,
                  schedule->form() == "exponential-v1" ? 0.999 : 0.1);
  REPRISE_DEFAULT(schedule, start_fraction, 0.04);
  REPRISE_DEFAULT(schedule, momentum_low, 0.85);
  REPRISE_DEFAULT(schedule, momentum_high, 0.95);
  REPRISE_DEFAULT(schedule, metric, "loss");
  REPRISE_DEFAULT(schedule, reduction, 0.1);
  REPRISE_DEFAULT(schedule, patience, 2);
  REPRISE_DEFAULT(schedule, cooldown, 0);
  REPRISE_DEFAULT(schedule, threshold, 0.0001);
}

void ResolvePrecision(v1::PrecisionConfig* precision) {
  REPRISE_DEFAULT(precision, mode, "fp16");
  REPRISE_DEFAULT(precision, scaler, precision->mode() == "fp16");
  REPRISE_DEFAULT(precision, init_scale, 65536);
  REPRISE_DEFAULT(precision, growth_interval, 200);
  REPRISE_DEFAULT(precision, min_scale, 0x1p-14);
  REPRISE_DEFAULT(precision, deterministic, true);
  REPRISE_DEFAULT(precision, allow_tf32, false);
}

void ResolveRun(bool gpt, v1::RunConfig* run) {
  REPRISE_DEFAULT(run, steps, gpt ? 400 : 1872);
  REPRISE_DEFAULT(run, seed, 1);
  REPRISE_DEFAULT(run, threads, 0);
  REPRISE_DEFAULT(run, device, "cpu");
  REPRISE_DEFAULT(run, save_every, 100);
  REPRISE_DEFAULT(run, keep_last, 3);
  REPRISE_DEFAULT(run, eval_every, gpt ? 100 : 468);
  REPRISE_DEFAULT(run, log_every, 50);
  REPRISE_DEFAULT(run, max_seconds, 0);
  REPRISE_DEFAULT(run, init_from, "");
}

void ResolveStepOptions(v1::TrainerConfig* config) {
  REPRISE_DEFAULT(config->mutable_ema(), decay, 0);
  REPRISE_DEFAULT(config->mutable_ema(), ramp, "ema-ramp-v1");
  REPRISE_DEFAULT(config->mutable_accumulation(), steps, 1);
  REPRISE_DEFAULT(config->mutable_save(), background, false);
  REPRISE_DEFAULT(config->mutable_save(), when_busy, "wait");
  REPRISE_DEFAULT(config->mutable_save(), at_micro, 0);
  REPRISE_DEFAULT(config->mutable_save(), keep_every, 0);
  REPRISE_DEFAULT(config->mutable_save(), keep_best, true);
  REPRISE_DEFAULT(config->mutable_best(), metric, "accuracy");
  REPRISE_DEFAULT(config->mutable_best(), patience, 0);
  REPRISE_DEFAULT(config->mutable_best(), min_delta, 0);
}

#undef REPRISE_DEFAULT

// A field whose default depends on another one.
struct Follower {
  const char* path;
  const char* leader;
};
// One that is a leader too comes before those that follow it.
constexpr Follower kFollowers[] = {
    {"model.dropout", "model.kind"},
    {"data.name", "model.kind"},
    {"data.batch_size", "model.kind"},
    {"data.augment", "data.name"},
    {"precision.scaler", "precision.mode"},
    {"run.steps", "model.kind"},
    {"run.eval_every", "model.kind"},
    {"schedule.warmup", "run.steps"},
    {"schedule.warmup", "schedule.form"},
    {"schedule.warmup", "schedule.unit"},
    {"schedule.gamma", "schedule.form"},
};

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "rbe"),
                                             fclose);
  std::string text;
  if (file != nullptr) {
    char piece[4096];
    while (size_t found = fread(piece, 1, sizeof piece, file.get())) {
      text.append(piece, found);
    }
    if (!ferror(file.get())) return text;
  }
  std::string message = absl::StrCat(path, ": ", std::strerror(errno));
  return errno == ENOENT ? absl::NotFoundError(message)
                         : absl::UnavailableError(message);
}

// Keeps the first error of a text-format parse.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    // Both are counted from zero; -1 stands for the whole file.
    text_ = line < 0 ? message
                     : absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

TrainerConfig Resolve(TrainerConfig config) {
  ResolveModel(config.mutable_model());
  const bool gpt = config.model().kind() == "gpt";
  ResolveData(gpt, config.mutable_data());
  ResolveOptimizer(config.mutable_optimizer());
  ResolvePrecision(config.mutable_precision());
  ResolveRun(gpt, config.mutable_run());
  ResolveSchedule(config.run(), config.mutable_schedule());
  ResolveStepOptions(&config);
  return config;
}

TrainerConfig Defaults() { return Resolve({}); }

absl::StatusOr<TrainerConfig> WithExplicitFields(TrainerConfig base,
                                                 const ExplicitFields& given) {
  TrainerConfig config = base;
  for (const auto& [path, value] : given) {
    absl::Status status = SetField(&config, path, value);
    if (!status.ok()) return status;
  }
  for (const Follower& follower : kFollowers) {
    const ConfigFieldRef leader = FindConfigField(follower.leader).value();
    if (given.count(follower.path) ||
        FormatConfigField(config, leader) == FormatConfigField(base, leader)) {
      continue;
    }
    ClearConfigField(&config, FindConfigField(follower.path).value());
    config = Resolve(config);
  }
  return Resolve(config);
}

absl::Status SetField(TrainerConfig* config, absl::string_view path,
                      absl::string_view value) {
  absl::StatusOr<ConfigFieldRef> ref = FindConfigField(path);
  if (!ref.ok()) return ref.status();
  return ParseConfigField(config, *ref, value);
}

absl::StatusOr<ExplicitFields> LoadTextFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadWhole(path);
  if (!text.ok()) return text.status();
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  TrainerConfig config;
  if (!parser.ParseFromString(*text, &config)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", error.text()));
  }
  ExplicitFields fields;
  for (const FlatField& field : Flatten(config)) {
    fields[field.path] = field.value;
  }
  return fields;
}

std::vector<FlatField> Flatten(const TrainerConfig& config) {
  std::vector<FlatField> fields;
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    if (!HasConfigField(config, ref)) continue;
    fields.push_back(
        {ref.path(), FormatConfigField(config, ref), ref.rule(), std::nullopt});
  }
  std::sort(
      fields.begin(), fields.end(),
      [](const FlatField& a, const FlatField& b) { return a.path < b.path; });
  return fields;
}

absl::StatusOr<MergedConfig> MergeForResume(
    const std::vector<ConfigField>& stored, const ExplicitFields& given) {
  TrainerConfig before;
  for (const ConfigField& field : stored) {
    absl::Status status = SetField(&before, field.path, field.value);
    if (!status.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the checkpoint's ", status.message(),
                       "; was it written by a newer trainer?"));
    }
  }
  before = Resolve(before);

  MergedConfig merged;
  merged.config = before;
  for (const auto& [path, value] : given) {
    absl::Status status = SetField(&merged.config, path, value);
    if (!status.ok()) return status;
  }
  std::vector<std::string> refused;
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    ConfigChange change = {ref.path(), FormatConfigField(before, ref),
                           FormatConfigField(merged.config, ref)};
    if (change.old_value == change.new_value) continue;
    if (ref.rule() == vocab::MUST_MATCH) {
      refused.push_back(absl::StrCat("\n  ", change.path,
                                     ": the checkpoint has ", change.old_value,
                                     ", asked for ", change.new_value));
    } else if (ref.rule() == vocab::MAY_CHANGE) {
      merged.changes.push_back(std::move(change));
    }
  }
  if (!refused.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a resumed run must keep these fields (leave them out, or start "
        "another run in another folder):",
        absl::StrJoin(refused, "")));
  }
  std::sort(merged.changes.begin(), merged.changes.end(),
            [](const ConfigChange& a, const ConfigChange& b) {
              return a.path < b.path;
            });
  absl::Status status = Validate(merged.config);
  if (!status.ok()) return status;
  return merged;
}

}  // namespace reprise
