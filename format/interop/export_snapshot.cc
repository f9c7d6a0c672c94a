#include "format/interop/export_snapshot.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "format/interop/torch_file.h"

namespace reprise {
namespace {

using Kind = PyValue::Kind;

// Makes values in one document.
class Builder {
 public:
  explicit Builder(PyDocument* document) : document_(*document) {}

  PyValue* New(Kind kind) {
    document_.values.emplace_back();
    document_.values.back().kind = kind;
    return &document_.values.back();
  }
  PyValue* Int(uint64_t number) {
    PyValue* value = New(Kind::kInt);
    if (number > INT64_MAX) {
      value->kind = Kind::kUInt;
      value->unsigned_integer = number;
    } else {
      value->integer = static_cast<int64_t>(number);
    }
    return value;
  }
  PyValue* Real(double real) {
    PyValue* value = New(Kind::kReal);
    value->real = real;
    return value;
  }
  PyValue* Bool(bool boolean) {
    PyValue* value = New(Kind::kBool);
    value->boolean = boolean;
    return value;
  }
  PyValue* Text(absl::string_view text) {
    PyValue* value = New(Kind::kText);
    value->text = std::string(text);
    return value;
  }
  PyValue* OfTensor(const Tensor& tensor) {
    PyValue* value = New(Kind::kObject);
    SetTensor(tensor, value);
    return value;
  }
  // A float32 tensor without dimensions, as torch keeps step counts.
  PyValue* Scalar(float number) {
    auto owner = std::make_shared<float>(number);
    const void* data = owner.get();
    return OfTensor(
        Tensor::Shared("", DType::kF32, {}, std::move(owner), data));
  }
  void Set(PyValue* dict, absl::string_view key, const PyValue* value) {
    dict->entries.emplace_back(Text(key), value);
  }
  // By name, so that a state and its checkpoint are exported alike.
  PyValue* Tensors(const std::vector<Tensor>& tensors, PyValue* dict) {
    std::map<absl::string_view, const Tensor*> sorted;
    for (const Tensor& tensor : tensors) sorted[tensor.name()] = &tensor;
    for (const auto& [name, tensor] : sorted) {
      Set(dict, name, OfTensor(*tensor));
    }
    return dict;
  }

 private:
  PyDocument& document_;
};

bool IsSaved(const Snapshot& snapshot, Item item) {
  const ItemRecord* record = snapshot.Find(item);
  return record != nullptr && record->presence == Presence::PRESENCE_SAVED;
}

PyValue* ExportGroup(const Snapshot& snapshot, const ParameterGroup& group,
                     const std::map<std::string, uint64_t>& positions,
                     Builder* build) {
  PyValue* dict = build->New(Kind::kDict);
  build->Set(dict, "lr", build->Real(group.lr));
  if (group.beta1.has_value()) {
    PyValue* betas = build->New(Kind::kTuple);
    betas->items = {build->Real(*group.beta1), build->Real(*group.beta2)};
    build->Set(dict, "betas", betas);
    build->Set(dict, "eps", build->Real(*group.eps));
    build->Set(dict, "weight_decay", build->Real(group.weight_decay));
    build->Set(dict, "amsgrad", build->Bool(false));
    build->Set(dict, "capturable", build->Bool(false));
    build->Set(dict, "decoupled_weight_decay",
               build->Bool(snapshot.optimizer->kind == "adamw"));
  } else {
    build->Set(dict, "momentum", build->Real(group.momentum.value_or(0)));
    build->Set(dict, "dampening", build->Real(group.dampening.value_or(0)));
    build->Set(dict, "weight_decay", build->Real(group.weight_decay));
    build->Set(dict, "nesterov", build->Bool(group.nesterov.value_or(false)));
  }
  build->Set(dict, "maximize", build->Bool(false));
  build->Set(dict, "foreach", build->New(Kind::kNone));
  build->Set(dict, "differentiable", build->Bool(false));
  build->Set(dict, "fused", build->New(Kind::kNone));
  if (IsSaved(snapshot, Item::SCHED_BASE)) {
    build->Set(dict, "initial_lr", build->Real(group.base_lr));
  }
  PyValue* params = build->New(Kind::kList);
  PyValue* names = build->New(Kind::kList);
  for (const std::string& name : group.parameters) {
    params->items.push_back(build->Int(positions.at(name)));
    names->items.push_back(build->Text(name));
  }
  build->Set(dict, "params", params);
  build->Set(dict, "param_names", names);
  return dict;
}

PyValue* ExportOptimizer(const Snapshot& snapshot, Builder* build) {
  const OptimizerState& optimizer = *snapshot.optimizer;
  std::map<std::string, uint64_t> positions;
  for (const ParameterGroup& group : optimizer.groups) {
    for (const std::string& name : group.parameters) {
      positions.emplace(name, positions.size());
    }
  }
  PyValue* state = build->New(Kind::kDict);
  for (const ParameterState& parameter : optimizer.states) {
    if (parameter.moments.empty()) continue;
    PyValue* dict = build->New(Kind::kDict);
    if (optimizer.kind != "sgd") {
      build->Set(dict, "step",
                 build->Scalar(static_cast<float>(parameter.step)));
    }
    build->Tensors(parameter.moments, dict);
    state->entries.emplace_back(build->Int(positions.at(parameter.parameter)),
                                dict);
  }
  PyValue* groups = build->New(Kind::kList);
  for (const ParameterGroup& group : optimizer.groups) {
    groups->items.push_back(ExportGroup(snapshot, group, positions, build));
  }
  PyValue* dict = build->New(Kind::kDict);
  build->Set(dict, "state", state);
  build->Set(dict, "param_groups", groups);
  return dict;
}

PyValue* ExportScaler(const GradScalerState& scaler, Builder* build) {
  PyValue* dict = build->New(Kind::kDict);
  build->Set(dict, "scale", build->Real(scaler.scale));
  build->Set(dict, "growth_factor", build->Real(scaler.growth_factor));
  build->Set(dict, "backoff_factor", build->Real(scaler.backoff_factor));
  build->Set(dict, "growth_interval", build->Int(scaler.growth_interval));
  build->Set(dict, "_growth_tracker", build->Int(scaler.growth_tracker));
  return dict;
}

PyValue* ExportScheduler(const Snapshot& snapshot, Builder* build) {
  PyValue* dict = build->New(Kind::kDict);
  build->Set(dict, "last_epoch", build->Int(snapshot.schedule->position));
  build->Set(dict, "_step_count", build->Int(snapshot.schedule->position + 1));
  if (!snapshot.optimizer.has_value()) return dict;
  PyValue* bases = build->New(Kind::kList);
  PyValue* last = build->New(Kind::kList);
  for (const ParameterGroup& group : snapshot.optimizer->groups) {
    bases->items.push_back(build->Real(group.base_lr));
    last->items.push_back(build->Real(group.lr));
  }
  if (IsSaved(snapshot, Item::SCHED_BASE)) build->Set(dict, "base_lrs", bases);
  build->Set(dict, "_last_lr", last);
  return dict;
}

}  // namespace

PyDocument ExportTorch(const Snapshot& snapshot) {
  PyDocument document;
  Builder build(&document);
  PyValue* root = build.New(Kind::kDict);
  document.root = root;
  PyValue* model = build.New(Kind::kDict);
  build.Tensors(ExportWeights(snapshot), model);
  build.Set(root, "model", model);
  if (!snapshot.masters.empty()) {
    build.Set(root, "master",
              build.Tensors(snapshot.masters, build.New(Kind::kDict)));
  }
  if (snapshot.optimizer.has_value() &&
      IsSaved(snapshot, Item::OPTIM_IDENTITY)) {
    build.Set(root, "optimizer", ExportOptimizer(snapshot, &build));
  }
  if (snapshot.schedule.has_value() &&
      IsSaved(snapshot, Item::SCHED_POSITION)) {
    build.Set(root, "scheduler", ExportScheduler(snapshot, &build));
  }
  if (snapshot.scaler.has_value() && IsSaved(snapshot, Item::SCALER_SCALE) &&
      IsSaved(snapshot, Item::SCALER_CONFIG)) {
    build.Set(root, "scaler", ExportScaler(*snapshot.scaler, &build));
  }
  if (!snapshot.ema_weights.empty()) {
    build.Set(root, "ema",
              build.Tensors(snapshot.ema_weights, build.New(Kind::kDict)));
  }
  build.Set(root, "step", build.Int(snapshot.step));
  if (snapshot.counters.has_value()) {
    build.Set(root, "applied", build.Int(snapshot.counters->applied));
    build.Set(root, "skipped", build.Int(snapshot.counters->skipped));
    build.Set(root, "samples", build.Int(snapshot.counters->samples));
  }
  return document;
}

std::vector<Tensor> ExportWeights(const Snapshot& snapshot) {
  std::vector<Tensor> tensors = snapshot.parameters;
  tensors.insert(tensors.end(), snapshot.buffers.begin(),
                 snapshot.buffers.end());
  return tensors;
}

}  // namespace reprise
