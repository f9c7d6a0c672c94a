// Validate: the ranges that trainer_config.proto states, as code.
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "re2/re2.h"
#include "trainer/config/config.h"
#include "trainer/config/fields.h"
#include "trainer/optim/group_rules.h"

namespace reprise {
namespace {

// Collects problems in the order of the schema.
class Problems {
 public:
  void Expect(bool holds, absl::string_view path, absl::string_view expected,
              absl::string_view found) {
    if (holds) return;
    lines_.push_back(
        absl::StrCat("  ", path, ": expected ", expected, ", found ", found));
  }
  void Expect(bool holds, absl::string_view path, absl::string_view expected,
              double found) {
    Expect(holds, path, expected, absl::string_view(absl::StrCat(found)));
  }
  void ExpectOneOf(absl::string_view path, const std::string& found,
                   std::initializer_list<absl::string_view> valid) {
    for (absl::string_view text : valid) {
      if (found == text) return;
    }
    Expect(false, path, absl::StrJoin(valid, " or "),
           absl::StrCat("\"", found, "\""));
  }
  void ExpectRange(absl::string_view path, uint64_t found, uint64_t least,
                   uint64_t greatest) {
    Expect(found >= least && found <= greatest, path,
           absl::StrCat(least, " to ", greatest), absl::StrCat(found));
  }
  // Both are the error texts of what reads the value.
  void ExpectOk(absl::string_view path, const absl::Status& status,
                const std::string& found) {
    Expect(status.ok(), path, status.message(),
           absl::StrCat("\"", found, "\""));
  }
  void ExpectAtLeastOne(absl::string_view path, uint64_t found) {
    Expect(found >= 1, path, "at least 1", absl::StrCat(found));
  }

  absl::Status ToStatus() const {
    if (lines_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("configuration:\n", absl::StrJoin(lines_, "\n")));
  }

 private:
  std::vector<std::string> lines_;
};

// OK when `pattern` is one of RE2's, else what was expected.
absl::Status CheckPattern(const std::string& pattern) {
  const re2::RE2 re(pattern, re2::RE2::Quiet);
  if (re.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("an RE2 pattern (", re.error(), ")"));
}

// All comparisons are written so that NaN fails them.
bool PositiveFinite(double value) { return value > 0 && std::isfinite(value); }
bool NotNegativeFinite(double value) {
  return value >= 0 && std::isfinite(value);
}

bool InZeroToOne(double value) { return value >= 0 && value < 1; }
bool InsideZeroToOne(double value) { return value > 0 && value < 1; }

constexpr uint64_t kMaxUnits = uint64_t{1} << 53;

void CheckModel(const TrainerConfig& config, Problems* problems) {
  const auto& model = config.model();
  problems->ExpectOneOf("model.kind", model.kind(),
                        {"convnet", "mlp", "resnet18", "gpt"});
  problems->ExpectRange("model.hidden", model.hidden(), 1, 65536);
  problems->Expect(InZeroToOne(model.dropout()), "model.dropout",
                   "a number in [0, 1)", model.dropout());
  problems->ExpectRange("model.layers", model.layers(), 1, 256);
  problems->ExpectAtLeastOne("model.heads", model.heads());
  problems->Expect(
      model.kind() != "gpt" || model.heads() == 0 ||
          model.hidden() % model.heads() == 0,
      "model.heads",
      absl::StrCat("a divisor of model.hidden (", model.hidden(), ")"),
      absl::StrCat(model.heads()));
  problems->ExpectOneOf("model.dtype", model.dtype(), {"fp32", "bf16", "fp16"});
  problems->Expect(
      model.dtype() == "fp32" || model.dtype() == config.precision().mode(),
      "model.dtype",
      absl::StrCat("fp32 or precision.mode (", config.precision().mode(), ")"),
      model.dtype());
  problems->ExpectRange("model.width", model.width(), 1, 4096);
  problems->ExpectOk("model.frozen", CheckPattern(model.frozen()),
                     model.frozen());
}

void CheckData(const TrainerConfig& config, Problems* problems) {
  const auto& data = config.data();
  const bool gpt = config.model().kind() == "gpt";
  problems->ExpectOneOf("data.name", data.name(),
                        {"fashion_mnist", "synthetic", "text"});
  problems->Expect(gpt == (data.name() == "text"), "data.name",
                   gpt ? "text for model.kind gpt"
                       : "images for model.kind " + config.model().kind(),
                   data.name());
  problems->Expect(
      data.train_limit() == 0 || data.train_limit() >= data.batch_size(),
      "data.train_limit",
      absl::StrCat("0 (all) or at least data.batch_size (", data.batch_size(),
                   ")"),
      absl::StrCat(data.train_limit()));
  problems->ExpectRange("data.batch_size", data.batch_size(), 1, 65536);
  problems->Expect(!data.augment() || data.name() != "text", "data.augment",
                   "false for text", "true");
  problems->ExpectRange("data.synthetic_size", data.synthetic_size(), 4, 1024);
  problems->ExpectRange("data.sequence_length", data.sequence_length(), 2,
                        65536);
  problems->ExpectOneOf("data.tail", data.tail(), {"drop", "partial", "span"});
  problems->ExpectRange("data.workers", data.workers(), 0, 256);
  problems->ExpectRange("data.prefetch", data.prefetch(), 1, 1024);
}

void CheckOptimizer(const trainer::v1::OptimizerConfig& optimizer,
                    Problems* problems) {
  problems->ExpectOneOf("optimizer.kind", optimizer.kind(),
                        {"adamw", "adam", "sgd"});
  problems->Expect(PositiveFinite(optimizer.lr()), "optimizer.lr",
                   "a finite number > 0", optimizer.lr());
  problems->Expect(InZeroToOne(optimizer.beta1()), "optimizer.beta1",
                   "a number in [0, 1)", optimizer.beta1());
  problems->Expect(InZeroToOne(optimizer.beta2()), "optimizer.beta2",
                   "a number in [0, 1)", optimizer.beta2());
  problems->Expect(PositiveFinite(optimizer.eps()), "optimizer.eps",
                   "a finite number > 0", optimizer.eps());
  problems->Expect(NotNegativeFinite(optimizer.weight_decay()),
                   "optimizer.weight_decay", "a finite number >= 0",
                   optimizer.weight_decay());
  problems->Expect(NotNegativeFinite(optimizer.clip_norm()),
                   "optimizer.clip_norm", "a finite number >= 0 (0: none)",
                   optimizer.clip_norm());
  problems->Expect(InZeroToOne(optimizer.momentum()), "optimizer.momentum",
                   "a number in [0, 1)", optimizer.momentum());
  problems->Expect(!optimizer.nesterov() || optimizer.momentum() > 0,
                   "optimizer.nesterov", "false without optimizer.momentum",
                   "true");
  problems->Expect(NotNegativeFinite(optimizer.clip_value()),
                   "optimizer.clip_value", "a finite number >= 0 (0: none)",
                   optimizer.clip_value());
  problems->Expect(optimizer.clip_value() == 0 || optimizer.clip_norm() == 0,
                   "optimizer.clip_value", "0 unless optimizer.clip_norm is 0",
                   optimizer.clip_value());
  problems->ExpectOk("optimizer.groups",
                     ParseGroupRules(optimizer.groups()).status(),
                     optimizer.groups());
}

void CheckSchedule(const TrainerConfig& config, Problems* problems) {
  const auto& schedule = config.schedule();
  const uint64_t steps = config.run().steps();
  problems->ExpectOneOf(
      "schedule.form", schedule.form(),
      {"constant-v1", "linear-v1", "warmup-cosine-v1", "step-v1",
       "exponential-v1", "one-cycle-v1", "plateau-v1"});
  problems->ExpectOneOf("schedule.unit", schedule.unit(),
                        {"applied", "attempted", "samples", "epochs"});
  const bool counts_steps =
      schedule.unit() == "applied" || schedule.unit() == "attempted";
  problems->Expect(!counts_steps || schedule.warmup() < steps,
                   "schedule.warmup",
                   absl::StrCat("less than run.steps (", steps, ")"),
                   absl::StrCat(schedule.warmup()));
  problems->Expect(
      schedule.horizon() == 0 || (schedule.horizon() > schedule.warmup() &&
                                  schedule.horizon() <= kMaxUnits),
      "schedule.horizon",
      absl::StrCat("0 (run.steps) or more than schedule.warmup (",
                   schedule.warmup(), "), at most 2^53"),
      absl::StrCat(schedule.horizon()));
  problems->Expect(
      schedule.final_fraction() >= 0 && schedule.final_fraction() <= 1,
      "schedule.final_fraction", "a number in [0, 1]",
      schedule.final_fraction());
  problems->ExpectRange("schedule.step_size", schedule.step_size(), 0,
                        kMaxUnits);
  problems->Expect(schedule.gamma() > 0 && schedule.gamma() <= 1,
                   "schedule.gamma", "a number in (0, 1]", schedule.gamma());
  problems->Expect(
      schedule.start_fraction() >= 0 && schedule.start_fraction() <= 1,
      "schedule.start_fraction", "a number in [0, 1]",
      schedule.start_fraction());
  problems->Expect(InsideZeroToOne(schedule.momentum_low()),
                   "schedule.momentum_low", "a number in (0, 1)",
                   schedule.momentum_low());
  problems->Expect(schedule.momentum_high() >= schedule.momentum_low() &&
                       schedule.momentum_high() < 1,
                   "schedule.momentum_high",
                   "a number from schedule.momentum_low to below 1",
                   schedule.momentum_high());
  problems->ExpectOneOf("schedule.metric", schedule.metric(),
                        {"loss", "accuracy"});
  problems->Expect(InsideZeroToOne(schedule.reduction()), "schedule.reduction",
                   "a number in (0, 1)", schedule.reduction());
  problems->ExpectRange("schedule.patience", schedule.patience(), 0, kMaxUnits);
  problems->ExpectRange("schedule.cooldown", schedule.cooldown(), 0, kMaxUnits);
  problems->Expect(InZeroToOne(schedule.threshold()), "schedule.threshold",
                   "a number in [0, 1)", schedule.threshold());
}

void CheckStepOptions(const TrainerConfig& config, Problems* problems) {
  problems->Expect(InZeroToOne(config.ema().decay()), "ema.decay",
                   "a number in [0, 1) (0: no average)", config.ema().decay());
  problems->ExpectOneOf("ema.ramp", config.ema().ramp(),
                        {"ema-ramp-v1", "none"});
  const uint32_t micro_steps = config.accumulation().steps();
  problems->ExpectRange("accumulation.steps", micro_steps, 1, 65536);
  problems->ExpectOneOf("save.when_busy", config.save().when_busy(),
                        {"wait", "skip"});
  problems->Expect(
      config.save().at_micro() < micro_steps || config.save().at_micro() == 0,
      "save.at_micro",
      absl::StrCat("less than accumulation.steps (", micro_steps, "), or 0"),
      absl::StrCat(config.save().at_micro()));
  const std::string& metric = config.best().metric();
  problems->ExpectOneOf("best.metric", metric,
                        {"accuracy", "loss", "ema/accuracy", "ema/loss"});
  problems->Expect(config.ema().decay() > 0 || metric.substr(0, 4) != "ema/",
                   "best.metric", "one of the weights without ema.decay",
                   absl::StrCat("\"", metric, "\""));
  problems->ExpectRange("best.patience", config.best().patience(), 0,
                        kMaxUnits);
  problems->Expect(NotNegativeFinite(config.best().min_delta()),
                   "best.min_delta", "a finite number >= 0",
                   config.best().min_delta());
}

}  // namespace

absl::Status Validate(const TrainerConfig& config) {
  Problems problems;
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    problems.Expect(HasConfigField(config, ref), ref.path(), "a value",
                    "nothing");
  }
  // Ranges of absent fields would only repeat that.
  absl::Status complete = problems.ToStatus();
  if (!complete.ok()) return complete;

  CheckModel(config, &problems);
  CheckData(config, &problems);
  CheckOptimizer(config.optimizer(), &problems);
  CheckSchedule(config, &problems);

  const auto& precision = config.precision();
  problems.ExpectOneOf("precision.mode", precision.mode(),
                       {"fp16", "bf16", "fp32"});
  problems.Expect(
      precision.init_scale() > 0 &&
          precision.init_scale() <= std::numeric_limits<float>::max(),
      "precision.init_scale", "a number > 0 that float32 can hold",
      precision.init_scale());
  problems.ExpectAtLeastOne("precision.growth_interval",
                            precision.growth_interval());
  problems.Expect(NotNegativeFinite(precision.min_scale()) &&
                      precision.min_scale() <= precision.init_scale(),
                  "precision.min_scale",
                  absl::StrCat("a number from 0 to precision.init_scale (",
                               precision.init_scale(), ")"),
                  precision.min_scale());

  const auto& run = config.run();
  problems.ExpectRange("run.steps", run.steps(), 1, kMaxUnits);
  problems.ExpectRange("run.threads", run.threads(), 0, 1024);
  problems.ExpectOneOf("run.device", run.device(), {"cpu", "cuda"});
  problems.ExpectAtLeastOne("run.save_every", run.save_every());
  problems.ExpectRange("run.keep_last", run.keep_last(), 1, 1 << 30);
  problems.ExpectAtLeastOne("run.eval_every", run.eval_every());
  problems.ExpectAtLeastOne("run.log_every", run.log_every());
  problems.Expect(NotNegativeFinite(run.max_seconds()), "run.max_seconds",
                  "a finite number >= 0 (0: no limit)", run.max_seconds());
  CheckStepOptions(config, &problems);
  return problems.ToStatus();
}

}  // namespace reprise
