#include "conformance/fake/bed.h"

#include <cmath>
#include <functional>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise::conformance::fake {
namespace {

using Apply = std::function<bool(const std::string&, Bed*)>;

template <typename T>
Apply Integer(T Bed::*field, uint64_t low, uint64_t high) {
  return [=](const std::string& text, Bed* bed) {
    uint64_t value;
    if (!absl::SimpleAtoi(text, &value) || value < low || value > high) {
      return false;
    }
    bed->*field = static_cast<T>(value);
    return true;
  };
}

Apply Real(double Bed::*field, double low, double high) {
  return [=](const std::string& text, Bed* bed) {
    double value;
    if (!absl::SimpleAtod(text, &value) || !(value >= low && value <= high)) {
      return false;
    }
    bed->*field = value;
    return true;
  };
}

Apply Choice(std::string Bed::*field, std::vector<std::string> allowed) {
  return [=](const std::string& text, Bed* bed) {
    for (const std::string& choice : allowed) {
      if (choice == text) {
        bed->*field = text;
        return true;
      }
    }
    return false;
  };
}

const std::map<std::string, Apply>& Settings() {
  constexpr uint64_t kMany = 1u << 30;
  static const auto* settings = new std::map<std::string, Apply>{
      {"batch", Integer(&Bed::batch, 1, 1000)},
      {"base_lr", Real(&Bed::base_lr, 0, 10)},
      {"clip", Real(&Bed::clip, 0, 1e30)},
      {"dataset_size", Integer(&Bed::dataset_size, 10, 100000)},
      {"dropout", Real(&Bed::dropout, 0, 0.99)},
      {"ema_decay", Real(&Bed::ema_decay, 0, 1)},
      {"eval_every", Integer(&Bed::eval_every, 1, kMany)},
      {"evaluation_delay_us", Integer(&Bed::evaluation_delay_us, 0, kMany)},
      {"growth_interval", Integer(&Bed::growth_interval, 1, kMany)},
      {"init_scale", Real(&Bed::init_scale, 1e-6, 1e30)},
      {"keep_last", Integer(&Bed::keep_last, 1, kMany)},
      {"noise", Real(&Bed::noise, 0, 10)},
      {"overflow_above", Real(&Bed::overflow_above, 0, 1e300)},
      {"patience", Integer(&Bed::patience, 0, kMany)},
      {"plateau_patience", Integer(&Bed::plateau_patience, 0, kMany)},
      {"save_at_micro", Integer(&Bed::save_at_micro, 0, kMany)},
      {"schedule_unit", Choice(&Bed::schedule_unit,
                               {"applied", "attempted", "samples", "epochs"})},
      {"step_delay_us", Integer(&Bed::step_delay_us, 0, kMany)},
      {"warmup", Integer(&Bed::warmup, 0, kMany)},
  };
  return *settings;
}

Bed Named(const std::string& name) {
  Bed bed;
  bed.workload = name;
  if (name == "T1") {
    bed.accumulation = 4;
    bed.steps = 75;
    bed.clip = 0.75;
  } else if (name == "T2") {
    bed.model = "tokens";
    bed.clip = 0.6;
  } else if (name == "T3") {
    bed.device = false;
    bed.precision = "fp32";
  } else if (name == "T0.sgd") {
    bed.optimizer = "sgd";
    bed.base_lr = 0.05;
  } else if (name == "T0.plateau") {
    bed.schedule = "plateau";
    bed.base_lr = 0.01;
    bed.patience = 6;
  } else if (name == "T0.half") {
    bed.half_parameters = true;
  } else if (name == "T0.frozen") {
    bed.freeze_at = 50;
  }
  return bed;
}

}  // namespace

const std::vector<std::string>& Workloads() {
  static const auto* names = new std::vector<std::string>{
      "T0", "T1", "T2", "T3", "T0.sgd", "T0.plateau", "T0.half", "T0.frozen"};
  return *names;
}

const std::vector<std::string>& SettingNames() {
  static const auto* names = [] {
    auto* list = new std::vector<std::string>;
    for (const auto& [name, apply] : Settings()) list->push_back(name);
    return list;
  }();
  return *names;
}

absl::StatusOr<Bed> BedFor(const RunRequest& request) {
  const std::string name =
      request.workload().empty() ? Workloads()[0] : request.workload();
  bool known = false;
  for (const std::string& workload : Workloads()) known |= workload == name;
  if (!known) {
    return absl::UnimplementedError(absl::StrCat(
        "workload: expected one of ", absl::StrJoin(Workloads(), ", "),
        "; found \"", name, "\""));
  }
  Bed bed = Named(name);
  if (request.has_seed()) bed.seed = request.seed();
  if (request.has_steps()) bed.steps = request.steps();
  if (request.has_save_every()) bed.save_every = request.save_every();
  if (request.has_accumulation()) bed.accumulation = request.accumulation();
  if (!request.precision().empty()) {
    if (request.precision() != "fp32" && request.precision() != "bf16" &&
        request.precision() != "fp16") {
      return absl::UnimplementedError(
          absl::StrCat("precision: expected fp32, bf16 or fp16; found \"",
                       request.precision(), "\""));
    }
    bed.precision = request.precision();
  }
  for (const v1::Setting& setting : request.settings()) {
    auto found = Settings().find(setting.name());
    if (found == Settings().end()) {
      return absl::UnimplementedError(absl::StrCat(
          "settings: expected one of ", absl::StrJoin(SettingNames(), ", "),
          "; found \"", setting.name(), "\""));
    }
    if (!found->second(setting.value(), &bed)) {
      return absl::InvalidArgumentError(
          absl::StrCat("settings: ", setting.name(), " cannot be \"",
                       setting.value(), "\""));
    }
  }
  if (bed.batch > bed.dataset_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", bed.batch, " is larger than the data set of ",
                     bed.dataset_size));
  }
  bed.inject_overflow.assign(request.inject_overflow().begin(),
                             request.inject_overflow().end());
  return bed;
}

}  // namespace reprise::conformance::fake
