#include "format/interop/import_snapshot.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/interop/import_optimizer.h"
#include "format/refusal.h"
#include "re2/re2.h"

namespace reprise {
namespace {

using Kind = PyValue::Kind;

constexpr char kNotInFile[] = "not in the imported file";
constexpr int kMaxDepth = 8;
constexpr size_t kMaxUserValues = 1000;

// The names that training scripts use; the first found counts.
const std::vector<absl::string_view>& ModelKeys() {
  static const auto* keys = new std::vector<absl::string_view>{
      "model", "model_state_dict", "state_dict", "model_state",
      "net",   "network",          "module"};
  return *keys;
}
const std::vector<absl::string_view>& OptimizerKeys() {
  static const auto* keys = new std::vector<absl::string_view>{
      "optimizer", "optimizer_state_dict", "optim", "optimizer_state", "opt"};
  return *keys;
}
const std::vector<absl::string_view>& SchedulerKeys() {
  static const auto* keys = new std::vector<absl::string_view>{
      "scheduler", "scheduler_state_dict", "lr_scheduler", "lr_sched", "sched"};
  return *keys;
}
const std::vector<absl::string_view>& ScalerKeys() {
  static const auto* keys = new std::vector<absl::string_view>{
      "scaler", "scaler_state_dict", "grad_scaler", "amp_scaler"};
  return *keys;
}
const std::vector<absl::string_view>& EmaKeys() {
  static const auto* keys = new std::vector<absl::string_view>{
      "ema", "model_ema", "ema_state_dict", "state_dict_ema"};
  return *keys;
}
const std::vector<absl::string_view>& MasterKeys() {
  static const auto* keys = new std::vector<absl::string_view>{
      "master", "masters", "master_params", "master_weights", "fp32_params"};
  return *keys;
}
const std::vector<absl::string_view>& StepKeys() {
  static const auto* keys = new std::vector<absl::string_view>{
      "step", "global_step", "iter_num", "iteration", "iter", "it", "steps"};
  return *keys;
}

bool IsStateDict(const PyValue& value) {
  return value.kind == Kind::kDict && !value.entries.empty() &&
         std::all_of(value.entries.begin(), value.entries.end(),
                     [](const auto& entry) {
                       return entry.first->kind == Kind::kText &&
                              TensorOf(*entry.second) != nullptr;
                     });
}

class Importer {
 public:
  Importer(const PyValue& root, const ImportOptions& options)
      : root_(root), options_(options) {}

  absl::StatusOr<ImportedSnapshot> Run() {
    for (Item item : AllValues<Item>()) {
      if (item < Item::RUN) {
        snapshot().MarkOmitted(item, kNotInFile);
      }
    }
    absl::Status status = Model();
    if (status.ok()) status = Masters();
    if (status.ok()) status = Optimizer();
    if (status.ok()) status = Scheduler();
    if (status.ok()) status = Scaler();
    if (status.ok()) status = Ema();
    if (status.ok()) status = Step();
    if (!status.ok()) return status;
    Rest();
    // The records were made before the step was known.
    for (ItemRecord& record : snapshot().inventory) {
      record.as_of_step = snapshot().step;
    }
    return std::move(imported_);
  }

 private:
  Snapshot& snapshot() { return imported_.snapshot; }
  void Note(std::string note) { imported_.notes.push_back(std::move(note)); }

  // The entry that holds a part: the one asked for, or the first of the usual.
  absl::StatusOr<const PyValue*> Find(
      const std::string& asked, const std::vector<absl::string_view>& usual) {
    if (!asked.empty()) {
      const PyValue* found = root_.Get(asked);
      if (found == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the file's dict has no key \"", asked, "\"; it has: ", Keys()));
      }
      used_.insert(asked);
      return found;
    }
    for (absl::string_view key : usual) {
      const PyValue* found = root_.Get(key);
      if (found == nullptr || used_.count(std::string(key)) != 0) continue;
      used_.insert(std::string(key));
      return found;
    }
    return nullptr;
  }

  std::string Keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : root_.entries) {
      if (keys.size() == 20) {
        keys.push_back("...");
        break;
      }
      keys.push_back(key->kind == Kind::kText ? key->text : Describe(*key));
    }
    return absl::StrJoin(keys, ", ");
  }

  absl::Status Model() {
    bare_ = options_.model_key.empty() && IsStateDict(root_);
    const PyValue* model = &root_;
    if (!bare_) {
      absl::StatusOr<const PyValue*> found =
          Find(options_.model_key, ModelKeys());
      if (!found.ok()) return found.status();
      model = *found;
    }
    if (model == nullptr || !IsStateDict(*model)) {
      return MakeRefusal(
          Refusal::MISSING_ITEM,
          absl::StrCat("model.params: expected a dict of names and tensors",
                       model == nullptr ? " under one of the usual keys; "
                                        : ", found something else; ",
                       "the file's dict has: ", Keys(),
                       ". Say which with the option model_key"));
    }
    const RE2 buffers(options_.buffers, RE2::Quiet);
    if (!buffers.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pattern \"", options_.buffers, "\": ", buffers.error()));
    }
    std::map<std::tuple<uint64_t, uint64_t, std::vector<int64_t>>, std::string>
        seen;
    bool prefixed = true;
    for (const auto& [name, value] : model->entries) {
      const Tensor tensor = Renamed(*TensorOf(*value), name->text);
      prefixed &= absl::StartsWith(name->text, "module.") ||
                  absl::StartsWith(name->text, "_orig_mod.");
      if (RE2::FullMatch(name->text, buffers)) {
        snapshot().buffers.push_back(tensor);
        continue;
      }
      snapshot().parameters.push_back(tensor);
      if (!tensor.storage().has_value()) {
        trained_.push_back(tensor);
        continue;
      }
      auto [first, is_new] = seen.try_emplace(
          {tensor.storage()->id, tensor.storage()->offset, tensor.shape()},
          tensor.name());
      if (is_new || tensor.num_elements() == 0) {
        trained_.push_back(tensor);
      } else {
        tied_[tensor.name()] = first->second;
        Note(
            absl::StrCat("model.ties: ", tensor.name(), " is ", first->second));
      }
    }
    if (snapshot().parameters.empty()) {
      return MakeRefusal(Refusal::MISSING_ITEM,
                         "model.params: every name matches the pattern of "
                         "buffers");
    }
    snapshot().architecture = options_.architecture;
    snapshot().MarkSaved(Item::MODEL_PARAMS);
    if (std::all_of(snapshot().parameters.begin(), snapshot().parameters.end(),
                    [](const Tensor& t) { return t.dtype() == DType::kF32; })) {
      snapshot().MarkNotApplicable(Item::MASTER,
                                   "the parameters are fp32 themselves");
    }
    if (trained_.size() < snapshot().parameters.size()) {
      snapshot().MarkSaved(Item::MODEL_TIES);
    } else {
      snapshot().MarkNotApplicable(Item::MODEL_TIES,
                                   "no two names share a storage");
    }
    if (snapshot().buffers.empty()) {
      snapshot().MarkNotApplicable(Item::MODEL_BUFFERS,
                                   "no name of the state dict is a buffer's");
    } else {
      snapshot().MarkSaved(Item::MODEL_BUFFERS);
      Note(absl::StrCat("model.buffers: ", snapshot().buffers.size(),
                        " of the names, by pattern; a state dict does not say "
                        "which are buffers"));
    }
    if (prefixed) {
      Note(
          "every name begins with module. or _orig_mod., a wrapper's prefix; "
          "ckpt_migrate --rename removes it everywhere at once");
    }
    return absl::OkStatus();
  }

  // Each half-precision parameter has one, or none has.
  absl::Status Masters() {
    const std::string key = options_.master_key.value_or("");
    if (bare_ || (options_.master_key.has_value() && key.empty())) {
      return absl::OkStatus();
    }
    // "master": True is another thing, and kept under user.
    std::vector<absl::string_view> keys = MasterKeys();
    keys.erase(std::remove_if(keys.begin(), keys.end(),
                              [this](absl::string_view usual) {
                                const PyValue* value = root_.Get(usual);
                                return value != nullptr &&
                                       value->kind != Kind::kDict &&
                                       value->kind != Kind::kList &&
                                       value->kind != Kind::kTuple;
                              }),
               keys.end());
    absl::StatusOr<const PyValue*> found = Find(key, keys);
    if (!found.ok()) return found.status();
    if (*found == nullptr) return absl::OkStatus();
    const auto mismatch = [](absl::string_view what) {
      return MakeRefusal(Refusal::MISMATCH, absl::StrCat("master: ", what));
    };
    if (!IsStateDict(**found)) {
      return mismatch(absl::StrCat(
          "expected a dict of the parameters' names and fp32 tensors, found ",
          Describe(**found),
          ". Say where it is with the option master_key, or "
          "with an empty one that there is none"));
    }
    std::map<std::string, const Tensor*> wanted;
    for (const Tensor& p : trained_) {
      if (p.dtype() == DType::kF16 || p.dtype() == DType::kBF16) {
        wanted[p.name()] = &p;
      }
    }
    for (const auto& [name, value] : (*found)->entries) {
      const Tensor master = Renamed(*TensorOf(*value), name->text);
      if (auto tie = tied_.find(name->text); tie != tied_.end()) {
        const PyValue* first = (*found)->Get(tie->second);
        if (first == nullptr || TensorOf(*first) == nullptr ||
            TensorOf(*first)->data() != master.data()) {
          return mismatch(absl::StrCat(name->text, " is ", tie->second,
                                       " in the model, and another tensor "
                                       "here"));
        }
        continue;
      }
      auto parameter = wanted.find(name->text);
      if (parameter == wanted.end()) {
        return mismatch(absl::StrCat(
            name->text, " is no half-precision parameter of the model"));
      }
      if (master.dtype() != DType::kF32 ||
          master.shape() != parameter->second->shape()) {
        return mismatch(
            absl::StrCat(name->text, ": expected f32 [",
                         absl::StrJoin(parameter->second->shape(), ", "),
                         "], found ", Name(master.dtype()), " [",
                         absl::StrJoin(master.shape(), ", "), "]"));
      }
      wanted.erase(parameter);
      snapshot().masters.push_back(master);
    }
    if (!wanted.empty()) {
      return mismatch(absl::StrCat("there is none of ", wanted.begin()->first,
                                   ", a parameter in half precision"));
    }
    snapshot().MarkSaved(Item::MASTER);
    return absl::OkStatus();
  }

  absl::Status Optimizer() {
    if (bare_) return absl::OkStatus();
    absl::StatusOr<const PyValue*> found =
        Find(options_.optimizer_key, OptimizerKeys());
    if (!found.ok()) return found.status();
    if (*found == nullptr) return absl::OkStatus();
    return ImportOptimizer(**found, trained_, options_, &imported_);
  }

  absl::Status Scheduler() {
    if (bare_) return absl::OkStatus();
    absl::StatusOr<const PyValue*> found =
        Find(options_.scheduler_key, SchedulerKeys());
    if (!found.ok()) return found.status();
    if (*found == nullptr) return absl::OkStatus();
    const PyValue* last = (*found)->Get("last_epoch");
    uint64_t position = 0;
    if (last == nullptr || !last->AsCount(&position)) {
      Note("sched.position: the scheduler's state has no last_epoch; left out");
      return absl::OkStatus();
    }
    ScheduleState schedule;
    schedule.position = position;
    snapshot().MarkSaved(Item::SCHED_POSITION);
    snapshot().MarkOmitted(
        Item::SCHED_DEFINITION,
        "a torch file does not name its scheduler's class or formula");
    snapshot().MarkOmitted(
        Item::SCHED_UNIT,
        "a torch file does not say what its scheduler counts");
    if (!options_.schedule_unit.empty()) {
      const std::map<std::string, ScheduleState::Unit> units = {
          {"applied", ScheduleState::Unit::kApplied},
          {"attempted", ScheduleState::Unit::kAttempted},
          {"samples", ScheduleState::Unit::kSamples},
          {"epochs", ScheduleState::Unit::kEpochs}};
      auto unit = units.find(options_.schedule_unit);
      if (unit == units.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "schedule_unit: expected applied, attempted, samples or epochs, "
            "found \"",
            options_.schedule_unit, "\""));
      }
      schedule.unit = unit->second;
      snapshot().MarkSaved(Item::SCHED_UNIT);
    }
    absl::Status status = Bases(**found);
    snapshot().schedule = schedule;
    return status;
  }

  // base_lrs, where the groups have no initial_lr; and a check that both agree.
  absl::Status Bases(const PyValue& scheduler) {
    const PyValue* bases = scheduler.Get("base_lrs");
    if (bases == nullptr || !snapshot().optimizer.has_value()) {
      return absl::OkStatus();
    }
    std::vector<ParameterGroup>& groups = snapshot().optimizer->groups;
    if (bases->items.size() != groups.size()) {
      return MakeRefusal(
          Refusal::MISMATCH,
          absl::StrCat("sched.base: the scheduler has ", bases->items.size(),
                       " base_lrs, the optimizer ", groups.size(), " groups"));
    }
    const bool known =
        snapshot().Find(Item::SCHED_BASE)->presence == Presence::PRESENCE_SAVED;
    for (size_t g = 0; g < groups.size(); ++g) {
      absl::StatusOr<double> base = NumberOf(*bases->items[g]);
      if (!base.ok()) return Annotate(base.status(), "sched.base");
      if (known && groups[g].base_lr != *base) {
        return MakeRefusal(
            Refusal::MISMATCH,
            absl::StrCat("sched.base: the scheduler says ", *base,
                         " for group ", g, ", the optimizer's initial_lr is ",
                         groups[g].base_lr));
      }
      groups[g].base_lr = *base;
    }
    snapshot().MarkSaved(Item::SCHED_BASE);
    return absl::OkStatus();
  }

  absl::Status Scaler() {
    if (bare_) return absl::OkStatus();
    absl::StatusOr<const PyValue*> found =
        Find(options_.scaler_key, ScalerKeys());
    if (!found.ok()) return found.status();
    if (*found == nullptr) return absl::OkStatus();
    const std::vector<Item> items = {
        Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG};
    if ((*found)->kind == Kind::kDict && (*found)->entries.empty()) {
      for (Item item : items) {
        snapshot().MarkNotApplicable(item, "the scaler was disabled");
      }
      return absl::OkStatus();
    }
    std::map<std::string, double> numbers;
    for (const char* key : {"scale", "growth_factor", "backoff_factor",
                            "growth_interval", "_growth_tracker"}) {
      const PyValue* value = (*found)->Get(key);
      if (value == nullptr) {
        return MakeRefusal(
            Refusal::MISSING_ITEM,
            absl::StrCat("scaler: expected the state of a torch GradScaler, "
                         "found none of its ",
                         key));
      }
      absl::StatusOr<double> number = NumberOf(*value);
      if (!number.ok()) {
        return Annotate(number.status(), absl::StrCat("scaler: ", key));
      }
      numbers[key] = *number;
    }
    for (const char* key : {"growth_interval", "_growth_tracker"}) {
      const double count = numbers[key];
      if (!(count >= 0 && count <= UINT32_MAX) ||
          count != static_cast<double>(static_cast<uint32_t>(count))) {
        return MakeRefusal(
            Refusal::INVALID_VALUE,
            absl::StrCat("scaler: ", key, ": expected a count, found ", count));
      }
    }
    GradScalerState scaler;
    scaler.scale = static_cast<float>(numbers["scale"]);
    scaler.growth_tracker = static_cast<uint32_t>(numbers["_growth_tracker"]);
    scaler.growth_interval = static_cast<uint32_t>(numbers["growth_interval"]);
    scaler.growth_factor = numbers["growth_factor"];
    scaler.backoff_factor = numbers["backoff_factor"];
    scaler.min_scale = 0;  // torch's has none
    scaler.arithmetic = "grad-scaler-v1";
    snapshot().scaler = scaler;
    for (Item item : items) snapshot().MarkSaved(item);
    return absl::OkStatus();
  }

  absl::Status Ema() {
    if (bare_) return absl::OkStatus();
    absl::StatusOr<const PyValue*> found = Find(options_.ema_key, EmaKeys());
    if (!found.ok()) return found.status();
    if (*found == nullptr) return absl::OkStatus();
    if (!IsStateDict(**found)) {
      Note(
          "ema.weights: expected a dict of names and tensors, found something "
          "else; left out");
      return absl::OkStatus();
    }
    std::set<std::string> names;
    for (const auto* list : {&snapshot().parameters, &snapshot().buffers}) {
      for (const Tensor& tensor : *list) names.insert(tensor.name());
    }
    for (const auto& [name, value] : (*found)->entries) {
      if (names.count(name->text) == 0) {
        return MakeRefusal(Refusal::MISMATCH,
                           absl::StrCat("ema.weights: ", name->text,
                                        " is no name of the model"));
      }
      snapshot().ema_weights.push_back(Renamed(*TensorOf(*value), name->text));
    }
    snapshot().MarkSaved(Item::EMA_WEIGHTS);
    return absl::OkStatus();
  }

  absl::Status Step() {
    snapshot().MarkSaved(Item::COUNTERS_STEP);
    const PyValue* found = nullptr;
    if (!bare_) {
      absl::StatusOr<const PyValue*> value =
          Find(options_.step_key, StepKeys());
      if (!value.ok()) return value.status();
      found = *value;
    }
    if (options_.step.has_value()) {
      snapshot().step = *options_.step;
      return absl::OkStatus();
    }
    if (found != nullptr) {
      if (!found->AsCount(&snapshot().step)) {
        return MakeRefusal(Refusal::INVALID_VALUE,
                           absl::StrCat("counters.step: expected a count, "
                                        "found ",
                                        Describe(*found)));
      }
      return absl::OkStatus();
    }
    uint64_t applied = 0;
    if (snapshot().optimizer.has_value()) {
      for (const ParameterState& state : snapshot().optimizer->states) {
        applied = std::max(applied, state.step);
      }
    }
    snapshot().step = applied;
    Note(applied == 0
             ? std::string("counters.step: the file does not say; 0 is "
                           "written. The option step says another")
             : absl::StrCat("counters.step: the file does not say; ", applied,
                            " is the optimizer's count, which leaves out "
                            "skipped steps. The option step says another"));
    return absl::OkStatus();
  }

  // What no item stands for is kept under user, by its path in the dict.
  void Rest() {
    if (bare_) return;
    for (const auto& [key, value] : root_.entries) {
      if (key->kind == Kind::kText && used_.count(key->text) != 0) continue;
      if (key->kind != Kind::kText) {
        left_out_.push_back(Describe(*key));
        continue;
      }
      Keep(key->text, *value, 0);
    }
    std::sort(
        snapshot().user.begin(), snapshot().user.end(),
        [](const UserValue& a, const UserValue& b) { return a.name < b.name; });
    if (snapshot().user.empty() && snapshot().user_tensors.empty()) {
      snapshot().MarkNotApplicable(Item::USER, "the file has nothing else");
    } else {
      snapshot().MarkSaved(Item::USER);
      Note(absl::StrCat("user: ", snapshot().user.size(), " values and ",
                        snapshot().user_tensors.size(),
                        " tensors that no item stands for are kept"));
    }
    if (!left_out_.empty()) {
      if (left_out_.size() > 20) {
        left_out_.resize(20);
        left_out_.push_back("...");
      }
      Note(
          absl::StrCat("left out, being neither numbers, strings nor "
                       "tensors: ",
                       absl::StrJoin(left_out_, ", ")));
    }
  }

  void Keep(const std::string& path, const PyValue& value, int depth) {
    if (depth > kMaxDepth || snapshot().user.size() >= kMaxUserValues ||
        snapshot().user_tensors.size() >= kMaxUserValues) {
      left_out_.push_back(path);
      return;
    }
    UserValue user;
    user.name = path;
    switch (value.kind) {
      case Kind::kBool:
        user.value = value.boolean;
        break;
      case Kind::kInt:
        user.value = value.integer;
        break;
      case Kind::kUInt:
        user.value = value.unsigned_integer;
        break;
      case Kind::kReal:
        user.value = value.real;
        break;
      case Kind::kText:
        user.value = value.text;
        break;
      case Kind::kDict:
        for (const auto& [key, item] : value.entries) {
          uint64_t number = 0;
          if (key->kind == Kind::kText) {
            Keep(absl::StrCat(path, ".", key->text), *item, depth + 1);
          } else if (key->AsCount(&number)) {
            Keep(absl::StrCat(path, ".", number), *item, depth + 1);
          } else {
            left_out_.push_back(absl::StrCat(path, "[", Describe(*key), "]"));
          }
        }
        return;
      case Kind::kList:
      case Kind::kTuple:
        for (size_t i = 0; i < value.items.size(); ++i) {
          Keep(absl::StrCat(path, ".", i), *value.items[i], depth + 1);
        }
        return;
      default: {
        const Tensor* tensor = TensorOf(value);
        if (tensor != nullptr) {
          snapshot().user_tensors.push_back(Renamed(*tensor, path));
        } else {
          left_out_.push_back(path);
        }
        return;
      }
    }
    snapshot().user.push_back(std::move(user));
  }

  const PyValue& root_;
  const ImportOptions& options_;
  ImportedSnapshot imported_;
  // The file is a state dict and nothing else.
  bool bare_ = false;
  std::vector<Tensor> trained_;
  // Second names of tied tensors, and the first of each.
  std::map<std::string, std::string> tied_;
  std::set<std::string> used_;
  std::vector<std::string> left_out_;
};

}  // namespace

absl::StatusOr<ImportedSnapshot> ImportTorch(const TorchFile& file,
                                             const ImportOptions& options) {
  if (file.document.root->kind != Kind::kDict) {
    return MakeRefusal(
        Refusal::MISSING_ITEM,
        absl::StrCat("model.params: expected a dict of state, found ",
                     Describe(*file.document.root)));
  }
  return Importer(*file.document.root, options).Run();
}

absl::StatusOr<ImportedSnapshot> ImportSafetensors(
    const SafetensorsFile& file, const ImportOptions& options) {
  PyDocument document;
  document.values.emplace_back();
  PyValue& root = document.values.back();
  root.kind = Kind::kDict;
  for (const Tensor& tensor : file.tensors) {
    document.values.emplace_back();
    PyValue& name = document.values.back();
    name.kind = Kind::kText;
    name.text = tensor.name();
    document.values.emplace_back();
    PyValue& value = document.values.back();
    SetTensor(tensor, &value);
    root.entries.emplace_back(&name, &value);
  }
  absl::StatusOr<ImportedSnapshot> imported = Importer(root, options).Run();
  if (!imported.ok()) return imported;
  imported->snapshot.MarkOmitted(
      Item::MODEL_TIES, "a safetensors file does not say what is shared");
  return imported;
}

}  // namespace reprise
