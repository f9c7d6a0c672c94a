#include "format/v2/tensor_list.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v2/items.h"
#include "format/v2/problem.h"
#include "format/v2/storage_overlap.h"

namespace reprise {
namespace {

bool OfModel(Item item) {
  return item == Item::MODEL_PARAMS || item == Item::MODEL_BUFFERS;
}

absl::StatusOr<TableEntry> EntryOf(const ListedTensor& listed) {
  const Tensor& tensor = *listed.tensor;
  TableEntry entry;
  entry.item = listed.item;
  entry.name = listed.name;
  entry.part = listed.part;
  entry.dtype = tensor.dtype();
  for (int64_t extent : tensor.shape()) {
    if (extent < 0) {
      return MakeRefusal(Refusal::INVALID_VALUE,
                         absl::StrCat(entry.Describe(), ": extent ", extent));
    }
    entry.shape.push_back(static_cast<uint64_t>(extent));
  }
  if (!tensor.strides().empty() &&
      tensor.strides().size() != tensor.shape().size()) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat(entry.Describe(), ": ", tensor.strides().size(),
                     " strides for ", tensor.shape().size(), " dimensions"));
  }
  for (int64_t stride : tensor.strides()) {
    if (stride < 0) {
      return MakeRefusal(Refusal::INVALID_VALUE,
                         absl::StrCat(entry.Describe(), ": stride ", stride));
    }
  }
  absl::StatusOr<uint64_t> bytes = CheckedBytes(entry.dtype, entry.shape);
  if (!bytes.ok()) return Annotate(bytes.status(), entry.Describe());
  entry.order = tensor.DimensionOrder();
  if (*bytes > 0 && tensor.data() == nullptr && !tensor.copy_function() &&
      !tensor.is_elsewhere()) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       absl::StrCat(entry.Describe(), " has ", *bytes,
                                    " bytes by its shape and no data"));
  }
  return entry;
}

// Same storage, same view of it.
absl::Status FindAliases(const Snapshot& snapshot,
                         const std::vector<ListedTensor>& tensors,
                         std::vector<TableEntry>* entries) {
  // Storage and offset, and how it is looked at; strides of views with gaps.
  using Identity =
      std::tuple<bool, uint64_t, uint64_t, DType, std::vector<uint64_t>,
                 std::vector<uint32_t>, std::vector<int64_t>>;
  std::map<Identity, size_t> seen;
  bool any = false;
  for (size_t i = 0; i < entries->size(); ++i) {
    TableEntry& entry = (*entries)[i];
    const Tensor& tensor = *tensors[i].tensor;
    if (!OfModel(entry.item) || entry.num_bytes() == 0) continue;
    if (!tensor.storage().has_value() && tensor.data() == nullptr) continue;
    const Tensor::Storage storage = tensor.storage().value_or(
        Tensor::Storage{0, reinterpret_cast<uintptr_t>(tensor.data())});
    auto [found, is_new] = seen.emplace(
        Identity{tensor.storage().has_value(), storage.id, storage.offset,
                 entry.dtype, entry.shape, entry.order,
                 tensor.IsDense() ? std::vector<int64_t>() : tensor.strides()},
        i);
    if (is_new) continue;
    entry.alias = static_cast<uint32_t>(found->second + 1);
    any = true;
    if (!IsSavedV2(snapshot, Item::MODEL_TIES)) {
      return v2_internal::Invalid(
          Item::MODEL_TIES,
          absl::StrCat(entry.name, " is the same storage as ",
                       (*entries)[found->second].name, ", but the record says ",
                       TextOf(snapshot.Find(Item::MODEL_TIES)->presence)));
    }
  }
  if (!any && IsSavedV2(snapshot, Item::MODEL_TIES)) {
    return v2_internal::Missing(Item::MODEL_TIES,
                                "recorded as SAVED, but no two tensors of the "
                                "model are one storage");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<ListedTensor> ListTensors(const Snapshot& snapshot) {
  std::vector<ListedTensor> tensors;
  auto add = [&tensors](Item item, const std::vector<Tensor>& list) {
    for (const Tensor& tensor : list) {
      tensors.push_back({item, tensor.name(), "", &tensor});
    }
  };
  add(Item::MODEL_PARAMS, snapshot.parameters);
  add(Item::MODEL_BUFFERS, snapshot.buffers);
  if (snapshot.optimizer.has_value()) {
    for (const ParameterState& state : snapshot.optimizer->states) {
      for (const Tensor& moment : state.moments) {
        tensors.push_back(
            {Item::OPTIM_MOMENTS, state.parameter, moment.name(), &moment});
      }
    }
  }
  add(Item::MASTER, snapshot.masters);
  add(Item::ACCUM_GRADS, snapshot.gradients);
  add(Item::EMA_WEIGHTS, snapshot.ema_weights);
  add(Item::USER, snapshot.user_tensors);
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const ListedTensor& a, const ListedTensor& b) {
                     return std::tie(a.item, a.name, a.part) <
                            std::tie(b.item, b.name, b.part);
                   });
  return tensors;
}

absl::StatusOr<std::vector<TableEntry>> EntriesOf(
    const Snapshot& snapshot, const std::vector<ListedTensor>& tensors) {
  std::vector<TableEntry> entries;
  entries.reserve(tensors.size());
  for (const ListedTensor& listed : tensors) {
    absl::StatusOr<TableEntry> entry = EntryOf(listed);
    if (!entry.ok()) return entry.status();
    if (!entries.empty() && entries.back().Key() == entry->Key()) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat(entry->Describe(), ": two tensors of this name"));
    }
    entries.push_back(*std::move(entry));
  }
  absl::Status status = FindAliases(snapshot, tensors, &entries);
  if (status.ok()) status = CheckNoPartialOverlap(tensors, entries);
  if (!status.ok()) return status;
  return entries;
}

void ClearTensors(Snapshot* snapshot) {
  snapshot->parameters.clear();
  snapshot->buffers.clear();
  snapshot->masters.clear();
  snapshot->gradients.clear();
  snapshot->ema_weights.clear();
  snapshot->user_tensors.clear();
  if (!snapshot->optimizer.has_value()) return;
  for (ParameterState& state : snapshot->optimizer->states) {
    state.moments.clear();
  }
}

TensorPlacer::TensorPlacer(Snapshot* snapshot) : snapshot_(snapshot) {
  if (!snapshot->optimizer.has_value()) return;
  const std::vector<ParameterState>& states = snapshot->optimizer->states;
  for (size_t i = 0; i < states.size(); ++i) {
    states_.emplace_back(states[i].parameter, i);
  }
  std::sort(states_.begin(), states_.end());
}

absl::Status TensorPlacer::Place(const TableEntry& entry, Tensor tensor) {
  switch (entry.item) {
    case Item::MODEL_PARAMS:
      snapshot_->parameters.push_back(std::move(tensor));
      return absl::OkStatus();
    case Item::MODEL_BUFFERS:
      snapshot_->buffers.push_back(std::move(tensor));
      return absl::OkStatus();
    case Item::MASTER:
      snapshot_->masters.push_back(std::move(tensor));
      return absl::OkStatus();
    case Item::ACCUM_GRADS:
      snapshot_->gradients.push_back(std::move(tensor));
      return absl::OkStatus();
    case Item::EMA_WEIGHTS:
      snapshot_->ema_weights.push_back(std::move(tensor));
      return absl::OkStatus();
    case Item::USER:
      snapshot_->user_tensors.push_back(std::move(tensor));
      return absl::OkStatus();
    default:
      break;
  }
  auto found = std::lower_bound(states_.begin(), states_.end(), entry.name,
                                [](const auto& state, const std::string& name) {
                                  return state.first < name;
                                });
  if (found == states_.end() || found->first != entry.name) {
    return v2_internal::Invalid(
        Item::OPTIM_MOMENTS,
        absl::StrCat("moments of ", entry.name, ", which is in no group"));
  }
  snapshot_->optimizer->states[found->second].moments.push_back(
      std::move(tensor));
  return absl::OkStatus();
}

std::vector<std::vector<std::string>> TiedNames(
    const std::vector<TableEntry>& entries) {
  std::map<uint32_t, std::vector<std::string>> groups;
  for (const TableEntry& entry : entries) {
    if (entry.alias == 0) continue;
    std::vector<std::string>& group = groups[entry.alias];
    if (group.empty()) group.push_back(entries[entry.alias - 1].name);
    group.push_back(entry.name);
  }
  std::vector<std::vector<std::string>> ties;
  for (auto& [owner, group] : groups) ties.push_back(std::move(group));
  return ties;
}

}  // namespace reprise
