#include "tools/ckpt/inspect.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/run_entries.h"
#include "format/version.h"
#include "tools/ckpt/locate.h"

namespace reprise::ckpt {
namespace {

TensorLine LineOf(Item item, const std::string& name, const std::string& part,
                  const Tensor& tensor) {
  TensorLine line;
  line.set_item(TextOf(item));
  line.set_name(name);
  line.set_part(part);
  line.set_dtype(std::string(Name(tensor.dtype())));
  for (int64_t extent : tensor.shape()) line.add_shape(extent);
  line.set_bytes(tensor.num_bytes());
  return line;
}

struct Place {
  Item item;
  std::string name, part;
  const Tensor* tensor;
};

// Version 1: what lies in the snapshot.
std::vector<Place> PlacesOf(const Snapshot& snapshot) {
  std::vector<Place> places;
  for (const Tensor& tensor : snapshot.parameters) {
    places.push_back({Item::MODEL_PARAMS, tensor.name(), "", &tensor});
  }
  for (const Tensor& tensor : snapshot.buffers) {
    places.push_back({Item::MODEL_BUFFERS, tensor.name(), "", &tensor});
  }
  if (snapshot.optimizer.has_value()) {
    for (const ParameterState& state : snapshot.optimizer->states) {
      for (const Tensor& moment : state.moments) {
        places.push_back(
            {Item::OPTIM_MOMENTS, state.parameter, moment.name(), &moment});
      }
    }
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.item, a.name, a.part) < std::tie(b.item, b.name, b.part);
  });
  return places;
}

absl::Status Inspect(const std::string& path, Inspected* out) {
  out->path = path;
  out->listed = ListCheckpoint(path);
  if (out->listed.major == kV2Major) {
    auto reader = CheckpointReader::Open(path);
    if (!reader.ok()) return reader.status();
    out->snapshot = (*reader)->manifest().snapshot;
    out->reader = *std::move(reader);
    return absl::OkStatus();
  }
  absl::StatusOr<LoadedCheckpoint> read = ReadCheckpoint(path);
  if (!read.ok()) return read.status();
  out->snapshot = std::move(read->snapshot);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inspected> InspectMeant(const std::string& path,
                                       std::vector<std::string>* passed_over) {
  Inspected inspected;
  absl::StatusOr<std::string> folder = Locate(
      path,
      [&](const std::string& candidate) {
        inspected = Inspected();
        return Inspect(candidate, &inspected);
      },
      passed_over);
  if (!folder.ok()) return folder.status();
  return inspected;
}

std::vector<TensorLine> TensorsOf(const Inspected& inspected) {
  std::vector<TensorLine> lines;
  if (inspected.reader == nullptr) {
    for (const Place& place : PlacesOf(inspected.snapshot)) {
      lines.push_back(
          LineOf(place.item, place.name, place.part, *place.tensor));
    }
    return lines;
  }
  const std::vector<TableEntry>& entries = inspected.reader->manifest().tensors;
  for (const TableEntry& entry : entries) {
    TensorLine line;
    line.set_item(TextOf(entry.item));
    line.set_name(entry.name);
    line.set_part(entry.part);
    line.set_dtype(std::string(Name(entry.dtype)));
    for (uint64_t extent : entry.shape) line.add_shape(extent);
    if (!std::is_sorted(entry.order.begin(), entry.order.end())) {
      for (uint32_t dimension : entry.order) line.add_order(dimension);
    }
    line.set_bytes(entry.num_bytes());
    if (entry.alias != 0) line.set_tied_to(entries[entry.alias - 1].name);
    lines.push_back(std::move(line));
  }
  return lines;
}

absl::StatusOr<Tensor> ReadOne(const Inspected& inspected,
                               const TensorLine& line) {
  if (inspected.reader == nullptr) {
    for (const Place& place : PlacesOf(inspected.snapshot)) {
      if (TextOf(place.item) == line.item() && place.name == line.name() &&
          place.part == line.part()) {
        return *place.tensor;
      }
    }
  } else {
    const std::vector<TableEntry>& entries =
        inspected.reader->manifest().tensors;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (TextOf(entries[i].item) == line.item() &&
          entries[i].name == line.name() && entries[i].part == line.part()) {
        return inspected.reader->ReadTensor(i, {});
      }
    }
  }
  return MakeRefusal(Refusal::ABSENT,
                     absl::StrCat("there is no tensor ", line.name()));
}

CheckpointLine LineOf(const ListedCheckpoint& listed) {
  CheckpointLine line;
  line.set_name(listed.name);
  line.set_branch(listed.branch);
  if (listed.position.has_value()) {
    line.set_step(listed.position->step);
    line.set_micro_step(listed.position->micro.value_or(0));
  }
  line.set_bytes(listed.bytes);
  line.set_major(listed.major);
  line.set_minor(listed.minor);
  if (listed.status.ok()) {
    line.set_state("not read");
  } else {
    line.set_state(TextOf(RefusalOf(listed.status)));
    line.set_problem(std::string(listed.status.message()));
  }
  line.set_run_id(listed.run_id);
  line.set_attempt(listed.attempt);
  if (listed.parent.has_value()) line.set_parent_step(listed.parent->step);
  line.set_best(listed.is_best);
  if (listed.best.has_value()) {
    line.set_best_metric(listed.best->metric);
    line.set_best_value(listed.best->value);
  }
  line.set_created_unix_nanos(listed.created_unix_nanos);
  line.set_host(listed.host);
  line.set_manifest_digest(absl::BytesToHexString(listed.manifest_digest));
  line.set_value_digest(absl::BytesToHexString(listed.value_digest));
  return line;
}

absl::Status CheckIsRun(const std::string& path) {
  if (absl::Status status = CheckIsNoFile(path); !status.ok()) return status;
  absl::StatusOr<std::vector<RunEntry>> entries = ListRunEntries(path);
  if (!entries.ok()) return entries.status();
  if (!entries->empty()) return absl::OkStatus();
  return MakeRefusal(
      Refusal::ABSENT,
      absl::StrCat(
          path, ": expected a run folder (step-... in it), found ",
          FileSystem::Real()->LinkStat(JoinPath(path, kManifestName)).ok()
              ? "one checkpoint; name the folder it lies in"
              : "no checkpoint"));
}

}  // namespace reprise::ckpt
