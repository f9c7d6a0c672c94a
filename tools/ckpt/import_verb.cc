#include "tools/ckpt/import_verb.h"

#include <limits.h>
#include <stdlib.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "format/checkpoint_store.h"
#include "format/interop/import_snapshot.h"
#include "format/inventory.h"
#include "format/refusal.h"
#include "format/run_id.h"
#include "format/run_layout.h"
#include "reprise/tools/ckpt/report.pb.h"
#include "tools/ckpt/console.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Makes a checkpoint of a file of torch.save (a state dict, or a training dict
such as {model, optimizer, scheduler, scaler, step}) or of safetensors, in a new
run folder. Nothing in the file is executed, and nothing is invented: what the
file does not hold is recorded as OMITTED, and the report says what is missing
for an exact resume.
)";

// What files from elsewhere often are: a link into a cache.
std::string RealPath(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) != nullptr ? real : path;
}

absl::StatusOr<ImportOptions> OptionsOf(const Arguments& arguments) {
  ImportOptions options;
  options.model_key = arguments.Text("model_key");
  options.optimizer_key = arguments.Text("optimizer_key");
  options.scheduler_key = arguments.Text("scheduler_key");
  options.scaler_key = arguments.Text("scaler_key");
  options.ema_key = arguments.Text("ema_key");
  options.step_key = arguments.Text("step_key");
  if (arguments.Has("master_key")) {
    options.master_key = arguments.Text("master_key");
  }
  options.groups = arguments.List("groups");
  options.group_names = arguments.List("group_names");
  options.optimizer = arguments.Text("optimizer");
  options.schedule_unit = arguments.Text("schedule_unit");
  if (arguments.Has("buffers")) options.buffers = arguments.Text("buffers");
  if (arguments.Has("architecture")) {
    options.architecture = arguments.Text("architecture");
  }
  if (!options.optimizer.empty() && options.optimizer != "adam" &&
      options.optimizer != "adamw") {
    return absl::InvalidArgumentError(
        absl::StrCat("--optimizer: expected adam or adamw, found \"",
                     options.optimizer, "\""));
  }
  absl::StatusOr<std::optional<uint64_t>> step = arguments.Count("step");
  if (!step.ok()) return step.status();
  options.step = *step;
  return options;
}

// What is wrong with a file names it; what is wrong with options does not.
absl::StatusOr<ImportedSnapshot> InFile(
    absl::StatusOr<ImportedSnapshot> imported, const std::string& path) {
  if (imported.ok() ||
      RefusalOf(imported.status()) == Refusal::REFUSAL_UNSPECIFIED) {
    return imported;
  }
  return Annotate(imported.status(), path);
}

absl::StatusOr<ImportedSnapshot> ReadForeign(const std::string& path,
                                             const ImportOptions& options) {
  if (absl::EndsWith(path, ".safetensors")) {
    absl::StatusOr<SafetensorsFile> file =
        ReadSafetensors(FileSystem::Real(), path);
    if (!file.ok()) return file.status();
    return InFile(ImportSafetensors(*file, options), path);
  }
  absl::StatusOr<TorchFile> file = ReadTorchFile(FileSystem::Real(), path);
  if (!file.ok()) return file.status();
  return InFile(ImportTorch(*file, options), path);
}

// A new run needs a place of its own: other checkpoints are another run's.
// Gives whether the folder is there, empty.
absl::StatusOr<bool> CheckIsNewPlace(const std::string& folder) {
  absl::StatusOr<std::vector<FolderEntry>> entries =
      FileSystem::Real()->List(folder);
  if (!entries.ok()) {
    if (RefusalOf(entries.status()) == Refusal::ABSENT) return false;
    return entries.status();
  }
  if (entries->empty()) return true;
  return absl::InvalidArgumentError(
      absl::StrCat(folder, ": expected a new or empty folder, found ",
                   entries->size(), " entries (", entries->front().name,
                   "); an imported checkpoint begins a run of its own"));
}

// Removes what opening a run folder made; without a checkpoint it is none.
// Problems are not told: the first cause is.
void LeaveAsFound(const std::string& folder, bool was_there) {
  FileSystem* files = FileSystem::Real();
  absl::StatusOr<std::vector<FolderEntry>> entries = files->List(folder);
  if (!entries.ok()) return;
  for (const FolderEntry& entry : *entries) {
    RemoveRecursively(files, JoinPath(folder, entry.name)).IgnoreError();
  }
  if (!was_there) files->RemoveFolder(folder).IgnoreError();
}

std::vector<std::string> Lacking(const Snapshot& snapshot, ResumeLevel level) {
  std::vector<std::string> names;
  for (const LackingItem& lacking : LackingFor(snapshot, level)) {
    names.push_back(TextOf(lacking.item));
  }
  return names;
}

void PrintReport(const ImportReport& report, std::ostream& out) {
  out << "Imported " << report.source() << "\n  as " << report.checkpoint()
      << " (step " << report.step() << ", run " << report.run_id() << ")\n\n";
  std::map<std::string, std::vector<std::string>> by_reason;
  std::vector<std::string> saved;
  for (const ItemLine& line : report.items()) {
    if (line.presence() == "SAVED") {
      saved.push_back(line.item());
    } else {
      by_reason[absl::StrCat(line.presence(), line.reason().empty() ? "" : ", ",
                             line.reason())]
          .push_back(line.item());
    }
  }
  out << "Saved: " << absl::StrJoin(saved, " ") << "\n";
  for (const auto& [reason, items] : by_reason) {
    out << reason << ": " << absl::StrJoin(items, " ") << "\n";
  }
  out << "\n";
  for (const std::string& note : report.notes())
    out << "Note: " << note << "\n";
  if (report.lacking_for_statistical().empty()) {
    out << "Lacking for going on: nothing\n";
  } else {
    out << "Lacking for going on: "
        << absl::StrJoin(report.lacking_for_statistical(), " ") << "\n";
  }
  if (!report.lacking_for_bitwise().empty()) {
    out << "Lacking for the very same run: "
        << absl::StrJoin(report.lacking_for_bitwise(), " ") << "\n";
  }
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 1 || !arguments.Has("out")) {
    return absl::InvalidArgumentError(
        "expected one file and --out=FOLDER; ckpt import --help says more");
  }
  const std::string out = PersonsPath(arguments.Text("out"));
  const std::string& source = arguments.paths()[0];
  absl::StatusOr<ImportOptions> options = OptionsOf(arguments);
  if (!options.ok()) return options.status();
  absl::StatusOr<bool> was_there = CheckIsNewPlace(out);
  if (!was_there.ok()) return was_there.status();
  absl::StatusOr<ImportedSnapshot> imported =
      ReadForeign(RealPath(source), *options);
  if (!imported.ok()) return imported.status();

  Snapshot& snapshot = imported->snapshot;
  snapshot.run_id = DrawRunId();
  snapshot.attempt = 1;
  snapshot.writer = "ckpt import";
  snapshot.created_unix_nanos = absl::ToUnixNanos(absl::Now());
  CheckpointStore::Options store_options;
  store_options.format_major = kV2Major;
  auto store = CheckpointStore::Open(out, store_options);
  if (!store.ok()) return NotWritten(store.status());
  absl::StatusOr<std::string> digest = (*store)->Save(snapshot);
  if (!digest.ok()) {
    store->reset();
    LeaveAsFound(out, *was_there);
    return NotWritten(digest.status());
  }

  ImportReport report;
  report.set_source(source);
  report.set_checkpoint(JoinPath(out, CheckpointName(snapshot.step)));
  report.set_run_id(snapshot.run_id);
  report.set_step(snapshot.step);
  for (const ItemRecord& record : snapshot.inventory) {
    ItemLine* line = report.add_items();
    line->set_item(TextOf(record.item));
    line->set_presence(TextOf(record.presence));
    line->set_reason(record.reason);
  }
  for (const std::string& note : imported->notes) report.add_notes(note);
  for (const std::string& name : Lacking(snapshot, ResumeLevel::STATISTICAL)) {
    report.add_lacking_for_statistical(name);
  }
  for (const std::string& name : Lacking(snapshot, ResumeLevel::BITWISE)) {
    report.add_lacking_for_bitwise(name);
  }
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
  } else {
    PrintReport(report, streams.out);
  }
  return absl::OkStatus();
}

}  // namespace

Verb ImportVerb() {
  return {
      "import",
      "FILE --out=FOLDER",
      "makes a checkpoint of a file of torch.save or safetensors",
      kHelp,
      {{"out", "FOLDER", "the new run folder"},
       {"step", "N", "attempted steps completed, if the file has no step"},
       {"groups", "RE2,RE2", "the parameters of each optimizer group"},
       {"group_names", "NAME,NAME", "names for the optimizer's groups"},
       {"optimizer", "adam|adamw", "if the file does not say which"},
       {"schedule_unit", "UNIT",
        "applied, attempted, samples or epochs: what the scheduler counts"},
       {"buffers", "RE2", "names that are buffers, not parameters"},
       {"architecture", "NAME", "recorded with the weights"},
       {"model_key", "KEY", "where the dict holds the weights"},
       {"optimizer_key", "KEY", "... the optimizer's state dict"},
       {"scheduler_key", "KEY", "... the scheduler's"},
       {"scaler_key", "KEY", "... the GradScaler's"},
       {"ema_key", "KEY", "... the averaged weights"},
       {"step_key", "KEY", "... the step"},
       {"master_key", "KEY",
        "... fp32 masters of half-precision weights; empty: there are none"},
       {"json", "", "print the report as JSON (ImportReport)"}},
      &Run};
}

}  // namespace reprise::ckpt
