// Validate: the ranges that trainer_config.proto states, as code.
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/config/config.h"
#include "trainer/config/fields.h"

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

// All comparisons are written so that NaN fails them.
bool PositiveFinite(double value) { return value > 0 && std::isfinite(value); }
bool NotNegativeFinite(double value) {
  return value >= 0 && std::isfinite(value);
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

  const auto& model = config.model();
  problems.ExpectOneOf("model.kind", model.kind(),
                       {"convnet", "mlp", "resnet18"});
  problems.ExpectRange("model.hidden", model.hidden(), 1, 65536);
  problems.Expect(model.dropout() >= 0 && model.dropout() < 1, "model.dropout",
                  "a number in [0, 1)", model.dropout());

  const auto& data = config.data();
  problems.ExpectOneOf("data.name", data.name(),
                       {"fashion_mnist", "synthetic"});
  problems.Expect(
      data.train_limit() == 0 || data.train_limit() >= data.batch_size(),
      "data.train_limit",
      absl::StrCat("0 (all) or at least data.batch_size (", data.batch_size(),
                   ")"),
      absl::StrCat(data.train_limit()));
  problems.ExpectRange("data.batch_size", data.batch_size(), 1, 65536);
  problems.ExpectRange("data.synthetic_size", data.synthetic_size(), 4, 1024);

  const auto& optimizer = config.optimizer();
  problems.ExpectOneOf("optimizer.kind", optimizer.kind(),
                       {"adamw", "adam", "sgd"});
  problems.Expect(PositiveFinite(optimizer.lr()), "optimizer.lr",
                  "a finite number > 0", optimizer.lr());
  problems.Expect(optimizer.beta1() >= 0 && optimizer.beta1() < 1,
                  "optimizer.beta1", "a number in [0, 1)", optimizer.beta1());
  problems.Expect(optimizer.beta2() >= 0 && optimizer.beta2() < 1,
                  "optimizer.beta2", "a number in [0, 1)", optimizer.beta2());
  problems.Expect(PositiveFinite(optimizer.eps()), "optimizer.eps",
                  "a finite number > 0", optimizer.eps());
  problems.Expect(NotNegativeFinite(optimizer.weight_decay()),
                  "optimizer.weight_decay", "a finite number >= 0",
                  optimizer.weight_decay());
  problems.Expect(NotNegativeFinite(optimizer.clip_norm()),
                  "optimizer.clip_norm", "a finite number >= 0 (0: none)",
                  optimizer.clip_norm());

  problems.Expect(optimizer.momentum() >= 0 && optimizer.momentum() < 1,
                  "optimizer.momentum", "a number in [0, 1)",
                  optimizer.momentum());
  problems.Expect(!optimizer.nesterov() || optimizer.momentum() > 0,
                  "optimizer.nesterov", "false without optimizer.momentum",
                  "true");

  const auto& schedule = config.schedule();
  problems.ExpectOneOf("schedule.form", schedule.form(), {"warmup-cosine-v1"});
  problems.Expect(
      schedule.warmup() < config.run().steps(), "schedule.warmup",
      absl::StrCat("less than run.steps (", config.run().steps(), ")"),
      absl::StrCat(schedule.warmup()));
  problems.Expect(
      schedule.horizon() == 0 || (schedule.horizon() > schedule.warmup() &&
                                  schedule.horizon() <= uint64_t{1} << 53),
      "schedule.horizon",
      absl::StrCat("0 (run.steps) or more than schedule.warmup (",
                   schedule.warmup(), "), at most 2^53"),
      absl::StrCat(schedule.horizon()));
  problems.Expect(
      schedule.final_fraction() >= 0 && schedule.final_fraction() <= 1,
      "schedule.final_fraction", "a number in [0, 1]",
      schedule.final_fraction());

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
  problems.ExpectRange("run.steps", run.steps(), 1, uint64_t{1} << 53);
  problems.ExpectRange("run.threads", run.threads(), 0, 1024);
  problems.ExpectOneOf("run.device", run.device(), {"cpu", "cuda"});
  problems.ExpectAtLeastOne("run.save_every", run.save_every());
  problems.ExpectAtLeastOne("run.keep_last", run.keep_last());
  problems.ExpectAtLeastOne("run.eval_every", run.eval_every());
  problems.ExpectAtLeastOne("run.log_every", run.log_every());
  return problems.ToStatus();
}

}  // namespace reprise
