// Makes a Snapshot of what somebody else's checkpoint holds.
//
// Example (a test as well):
//
//   auto file = reprise::ReadTorchFile(FileSystem::Real(), "checkpoint.pt");
//   if (!file.ok()) return file.status();
//   auto imported = reprise::ImportTorch(*file, {});
//   if (!imported.ok()) return imported.status();
//   for (const std::string& note : imported->notes) std::cout << note << "\n";
//   // What the file lacks for an exact resume: format/inventory.h.
//
// Nothing is invented: an item that the file does not hold is OMITTED, and what
// had to be concluded (which parameter a position of the optimizer means) is
// said in the notes, or refused when two answers fit. Thread-safe.
#ifndef REPRISE_FORMAT_INTEROP_IMPORT_SNAPSHOT_H_
#define REPRISE_FORMAT_INTEROP_IMPORT_SNAPSHOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/interop/safetensors.h"
#include "format/interop/torch_file.h"
#include "format/snapshot.h"

namespace reprise {

struct ImportOptions {
  // Keys of the file's dict; empty: the usual names are tried.
  std::string model_key, optimizer_key, scheduler_key, scaler_key, ema_key,
      step_key;
  // The same of the fp32 masters of half-precision parameters, a dict of names
  // and tensors; with an empty key there are none in the file.
  std::optional<std::string> master_key;
  // Attempted steps completed, where the file does not say.
  std::optional<uint64_t> step;
  // RE2 patterns, one for each parameter group of the optimizer, in its order:
  // which parameters it holds. Empty: concluded from sizes and shapes.
  std::vector<std::string> groups;
  // Names for those groups; empty: group0, group1, ...
  std::vector<std::string> group_names;
  // "adam" or "adamw", where the file does not say.
  std::string optimizer;
  // What the scheduler counts: "applied", "attempted", "samples", "epochs"; a
  // torch file never says.
  std::string schedule_unit;
  // RE2 of the names that are buffers; a state dict does not say. Matches the
  // whole name.
  std::string buffers =
      "(.*\\.)?(running_mean|running_var|num_batches_tracked)";
  // Name of the architecture, recorded with the weights.
  std::string architecture = "unknown";
};

struct ImportedSnapshot {
  // Everything but run_id, attempt and writer, which the caller gives.
  Snapshot snapshot;
  // One sentence each, for the person who imports.
  std::vector<std::string> notes;
};

// Errors: MISSING_ITEM when there is no model in it, MISMATCH when the
// optimizer's positions fit no or more than one order of the parameters, or a
// master is not one of a half-precision parameter,
// INVALID_VALUE, INVALID_ARGUMENT for options that fit nothing, UNIMPLEMENTED
// for optimizers other than Adam, AdamW and SGD.
absl::StatusOr<ImportedSnapshot> ImportTorch(const TorchFile& file,
                                             const ImportOptions& options);

// A safetensors file holds weights and no more.
absl::StatusOr<ImportedSnapshot> ImportSafetensors(
    const SafetensorsFile& file, const ImportOptions& options);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_IMPORT_SNAPSHOT_H_
