#include "format/v1/validate.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/items.h"
#include "format/v1/limits.h"
#include "format/v1/validate_internal.h"

namespace reprise {
namespace v1_internal {

absl::Status CheckName(Item item, absl::string_view kind,
                       absl::string_view name) {
  if (name.empty()) return Missing(item, absl::StrCat(kind, " without a name"));
  if (name.size() > kV1MaxNameBytes) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat(TextOf(item), ": a ", kind, "'s name has ", name.size(),
                     " bytes, at most ", kV1MaxNameBytes, " are allowed"));
  }
  if (absl::StrContains(name, absl::string_view("\0", 1))) {
    return Invalid(item, absl::StrCat("a ", kind, "'s name contains NUL"));
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(Item item, const Tensor& tensor) {
  absl::Status status = CheckName(item, "tensor", tensor.name());
  if (!status.ok()) return status;
  absl::StatusOr<uint64_t> bytes = CheckedTensorBytes(tensor);
  if (!bytes.ok()) return Annotate(bytes.status(), TextOf(item));
  if (*bytes > 0 && tensor.data() == nullptr) {
    return Missing(item, absl::StrCat("tensor ", tensor.name(), " has ", *bytes,
                                      " bytes by its shape and no data"));
  }
  if (!tensor.IsRowMajor()) {
    return Invalid(item,
                   absl::StrCat("tensor ", tensor.name(),
                                " is not row-major, and version 1 records no "
                                "other order; save as version 2"));
  }
  return absl::OkStatus();
}

absl::Status CheckGroupPresence(const Snapshot& snapshot,
                                const std::vector<Item>& items, bool has_data,
                                absl::string_view data) {
  bool any_saved = false;
  for (Item item : items) {
    if (!IsSaved(snapshot, item)) continue;
    any_saved = true;
    if (!has_data) {
      return Missing(
          item, absl::StrCat("recorded as SAVED, but ", data, " is not there"));
    }
  }
  if (has_data && !any_saved) {
    return Invalid(items[0],
                   absl::StrCat(data, " is there, but the record says ",
                                TextOf(snapshot.Find(items[0])->presence)));
  }
  return absl::OkStatus();
}

}  // namespace v1_internal

namespace {

using v1_internal::CheckGroupPresence;
using v1_internal::CheckName;
using v1_internal::CheckTensor;
using v1_internal::Invalid;
using v1_internal::Missing;

bool IsRunId(absl::string_view id) {
  return id.size() == 32 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status ValidateRun(const Snapshot& snapshot) {
  if (!IsRunId(snapshot.run_id)) {
    return Invalid(Item::RUN, absl::StrCat("run id: expected 32 lower-case "
                                           "hexadecimal digits, found \"",
                                           snapshot.run_id, "\""));
  }
  if (snapshot.attempt == 0) {
    return Invalid(Item::RUN, "attempt: expected at least 1, found 0");
  }
  if (!snapshot.parent.has_value()) return absl::OkStatus();
  if (snapshot.attempt == 1) {
    return Invalid(Item::RUN,
                   "attempt 1 resumed from nothing, but a parent "
                   "is recorded");
  }
  if (snapshot.parent->manifest_digest.size() != 16) {
    return Invalid(Item::RUN,
                   absl::StrCat("parent digest: expected 16 bytes, found ",
                                snapshot.parent->manifest_digest.size()));
  }
  if (snapshot.parent->step > snapshot.step) {
    return Invalid(Item::RUN,
                   absl::StrCat("parent step ", snapshot.parent->step,
                                " lies after step ", snapshot.step));
  }
  return absl::OkStatus();
}

// "Nothing yet" exists for what the first applied step makes.
bool MayBeEmpty(Item item) {
  return item == Item::OPTIM_MOMENTS || item == Item::OPTIM_STEP;
}

absl::Status ValidateRecord(const Snapshot& snapshot,
                            const ItemRecord& record) {
  const bool reason_wanted =
      record.presence == Presence::PRESENCE_NOT_APPLICABLE ||
      record.presence == Presence::PRESENCE_OMITTED;
  switch (record.presence) {
    case Presence::PRESENCE_SAVED:
    case Presence::PRESENCE_NOT_APPLICABLE:
    case Presence::PRESENCE_OMITTED:
      break;
    case Presence::PRESENCE_EMPTY:
      if (MayBeEmpty(record.item)) break;
      return Invalid(record.item, "recorded as EMPTY; it always has a value");
    default:
      return Invalid(
          record.item,
          absl::StrCat("presence ", TextOf(record.presence), " is not one"));
  }
  if (reason_wanted && record.reason.empty()) {
    return Missing(record.item,
                   absl::StrCat("recorded as ", TextOf(record.presence),
                                " without a reason"));
  }
  if (!reason_wanted && !record.reason.empty()) {
    return Invalid(record.item,
                   absl::StrCat("recorded as ", TextOf(record.presence),
                                " with a reason"));
  }
  if (record.as_of_step != snapshot.step) {
    return Invalid(record.item,
                   absl::StrCat("as of step ", record.as_of_step,
                                ", the checkpoint is of step ", snapshot.step));
  }
  return absl::OkStatus();
}

absl::Status ValidateModel(const Snapshot& snapshot) {
  absl::Status status = CheckGroupPresence(
      snapshot, {Item::MODEL_PARAMS},
      !snapshot.parameters.empty() || !snapshot.architecture.empty(),
      "the model");
  if (!status.ok()) return status;
  if (IsSaved(snapshot, Item::MODEL_PARAMS)) {
    if (snapshot.parameters.empty()) {
      return Missing(Item::MODEL_PARAMS,
                     "recorded as SAVED, but there are no parameters");
    }
    if (snapshot.architecture.empty()) {
      return Missing(Item::MODEL_PARAMS, "field model.architecture is absent");
    }
    if (snapshot.initialisation.empty()) {
      return Missing(Item::MODEL_PARAMS,
                     "field model.initialisation is absent");
    }
  }
  status = CheckGroupPresence(snapshot, {Item::MODEL_BUFFERS},
                              !snapshot.buffers.empty(), "a buffer");
  if (!status.ok()) return status;
  std::set<absl::string_view> names;
  for (const auto& [item, tensors] :
       {std::make_pair(Item::MODEL_PARAMS, &snapshot.parameters),
        std::make_pair(Item::MODEL_BUFFERS, &snapshot.buffers)}) {
    for (const Tensor& tensor : *tensors) {
      status = CheckTensor(item, tensor);
      if (!status.ok()) return status;
      if (!names.insert(tensor.name()).second) {
        return Invalid(item,
                       absl::StrCat("two tensors are called ", tensor.name()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsSaved(const Snapshot& snapshot, Item item) {
  const ItemRecord* record = snapshot.Find(item);
  return record != nullptr && record->presence == Presence::PRESENCE_SAVED;
}

absl::StatusOr<uint64_t> CheckedTensorBytes(const Tensor& tensor) {
  // Later element types are of version 2.
  const size_t element =
      tensor.dtype() > DType::kBool ? 0 : SizeOf(tensor.dtype());
  if (element == 0) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("tensor ", tensor.name(), ": dtype ",
                                    static_cast<int>(tensor.dtype()),
                                    " is not one of format version 1"));
  }
  if (tensor.shape().size() > kV1MaxRank) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat("tensor ", tensor.name(), ": rank ", tensor.shape().size(),
                     ", at most ", kV1MaxRank));
  }
  uint64_t bytes = element;
  bool no_element = false;
  for (int64_t extent : tensor.shape()) {
    if (extent < 0) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat("tensor ", tensor.name(), ": negative extent ", extent));
    }
    no_element |= extent == 0;
  }
  if (no_element) return 0;
  for (int64_t extent : tensor.shape()) {
    if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) /
                    static_cast<uint64_t>(extent)) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("tensor ", tensor.name(),
                                      ": more than 2^63 - 1 bytes by its "
                                      "shape"));
    }
    bytes *= static_cast<uint64_t>(extent);
  }
  return bytes;
}

absl::Status ValidateInventoryForV1(const Snapshot& snapshot) {
  std::set<Item> seen;
  for (const ItemRecord& record : snapshot.inventory) {
    const std::vector<Item>& known = ItemsOfV1();
    if (std::find(known.begin(), known.end(), record.item) == known.end()) {
      return Invalid(record.item, "not an item that format version 1 records");
    }
    if (!seen.insert(record.item).second) {
      return Invalid(record.item, "recorded twice in the inventory");
    }
    absl::Status status = ValidateRecord(snapshot, record);
    if (!status.ok()) return status;
  }
  for (Item item : ItemsOfV1()) {
    if (seen.count(item) == 0) {
      return Missing(item, "no record in the inventory");
    }
  }
  if (!IsSaved(snapshot, Item::COUNTERS_STEP)) {
    return Missing(Item::COUNTERS_STEP,
                   "a checkpoint without its step cannot be placed");
  }
  return absl::OkStatus();
}

absl::Status ValidateForV1(const Snapshot& snapshot) {
  for (auto* check :
       {ValidateRun, ValidateInventoryForV1, ValidateModel,
        v1_internal::ValidateOptimizer, v1_internal::ValidateSchedule,
        v1_internal::ValidateScaler, v1_internal::ValidateSampler,
        v1_internal::ValidateGenerators, v1_internal::ValidateConfig,
        v1_internal::ValidateEnvironment}) {
    absl::Status status = check(snapshot);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace reprise
