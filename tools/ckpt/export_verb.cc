#include "tools/ckpt/export_verb.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/interop/export_snapshot.h"
#include "format/interop/safetensors.h"
#include "format/interop/torch_file.h"
#include "format/refusal.h"
#include "reprise/tools/ckpt/report.pb.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/locate.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Writes the newest checkpoint of a run folder, or the checkpoint given, as a file
that Python opens: NAME.pt with torch.load(NAME, weights_only=True), a dict
{model, master, optimizer, scheduler, scaler, ema, step, ...} whose parts the
load_state_dict of torch's own classes takes; NAME.safetensors with
safetensors.torch.load_file, weights only. An existing file is never replaced.
)";

// Whether a torch file holds it.
bool TorchHolds(Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
    case Item::MODEL_BUFFERS:
    case Item::MODEL_TIES:
    case Item::MASTER:
    case Item::OPTIM_KIND:
    case Item::OPTIM_GROUPS:
    case Item::OPTIM_MOMENTS:
    case Item::OPTIM_STEP:
    case Item::OPTIM_IDENTITY:
    case Item::SCHED_POSITION:
    case Item::SCHED_BASE:
    case Item::SCHED_APPLIED:
    case Item::SCALER_SCALE:
    case Item::SCALER_CONFIG:
    case Item::SCALER_GROWTH_TRACKER:
    case Item::EMA_WEIGHTS:
    case Item::COUNTERS_STEP:
    case Item::COUNTERS_APPLIED:
    case Item::COUNTERS_SKIPPED:
    case Item::COUNTERS_SAMPLES:
      return true;
    default:
      return false;
  }
}

bool SafetensorsHold(Item item) {
  return item == Item::MODEL_PARAMS || item == Item::MODEL_BUFFERS;
}

absl::Status WriteContents(const Snapshot& snapshot, bool safetensors, bool ema,
                           File* file) {
  if (!safetensors) {
    return WriteTorchFile(*ExportTorch(snapshot).root, file);
  }
  return WriteSafetensors(ema ? snapshot.ema_weights : ExportWeights(snapshot),
                          {{"format", "pt"}}, file);
}

// Nothing under the final name until everything is on the disk.
absl::StatusOr<uint64_t> WriteDurably(const std::string& path,
                                      const Snapshot& snapshot,
                                      bool safetensors, bool ema) {
  FileSystem* files = FileSystem::Real();
  const std::string temporary = JoinPath(
      ParentFolder(path), absl::StrCat(".", BaseName(path), ".tmp-", getpid()));
  absl::StatusOr<std::unique_ptr<File>> file =
      files->CreateExclusive(temporary, 0666);
  if (!file.ok()) return file.status();
  absl::Status status = WriteContents(snapshot, safetensors, ema, file->get());
  uint64_t size = 0;
  if (status.ok()) {
    absl::StatusOr<FileInfo> info = (*file)->Stat();
    status = info.status();
    if (info.ok()) size = info->size;
  }
  if (status.ok()) status = (*file)->SyncData();
  if (status.ok()) status = (*file)->Close();
  if (status.ok()) status = files->RenameNoReplace(temporary, path);
  if (!status.ok()) {
    // The first cause is reported; what is left has a name of its own.
    (void)files->Unlink(temporary);
    return status;
  }
  status = files->SyncFolder(ParentFolder(path));
  if (!status.ok()) return status;
  return size;
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 1 || !arguments.Has("out")) {
    return absl::InvalidArgumentError(
        "expected one checkpoint or run folder and --out=FILE; ckpt export "
        "--help says more");
  }
  const std::string out = PersonsPath(arguments.Text("out"));
  const bool safetensors = absl::EndsWith(out, ".safetensors");
  if (!safetensors && !absl::EndsWith(out, ".pt") &&
      !absl::EndsWith(out, ".pth")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--out: expected a name that ends in .pt, .pth or .safetensors, found ",
        out));
  }
  const bool ema = arguments.Has("ema");
  if (ema && !safetensors) {
    return absl::InvalidArgumentError(
        "--ema is for .safetensors; a .pt file holds both under their names");
  }
  if (FileSystem::Real()->LinkStat(out).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(out, ": there is something already; it is not replaced"));
  }
  std::vector<std::string> passed_over;
  absl::StatusOr<LoadedCheckpoint> checkpoint =
      ReadMeant(arguments.paths()[0], &passed_over);
  for (const std::string& line : passed_over) streams.err << line << "\n";
  if (!checkpoint.ok()) return checkpoint.status();
  const Snapshot& snapshot = checkpoint->snapshot;
  if (ema && snapshot.ema_weights.empty()) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       absl::StrCat(checkpoint->path,
                                    ": there are no averaged weights in it"));
  }
  absl::StatusOr<uint64_t> bytes =
      WriteDurably(out, snapshot, safetensors, ema);
  if (!bytes.ok()) return NotWritten(bytes.status());

  ExportReport report;
  report.set_checkpoint(checkpoint->path);
  report.set_file(out);
  report.set_format(safetensors ? "safetensors" : "torch");
  report.set_step(snapshot.step);
  report.set_bytes(*bytes);
  report.set_tensors(ema ? snapshot.ema_weights.size()
                         : ExportWeights(snapshot).size());
  for (const ItemRecord& record : snapshot.inventory) {
    if (record.presence != Presence::PRESENCE_SAVED) continue;
    if (safetensors ? !SafetensorsHold(record.item)
                    : !TorchHolds(record.item)) {
      report.add_not_exported(TextOf(record.item));
    }
  }
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
    return absl::OkStatus();
  }
  streams.out << "Exported " << report.checkpoint() << " (step "
              << report.step() << ")\n  as " << report.file() << ": "
              << report.tensors() << " tensors of the model, " << report.bytes()
              << " bytes\n";
  if (!report.not_exported().empty()) {
    streams.out << "Such a file does not hold: "
                << absl::StrJoin(report.not_exported(), " ") << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

Verb ExportVerb() {
  return {"export",
          "RUN_OR_CHECKPOINT --out=FILE",
          "writes a file that torch.load or safetensors opens",
          kHelp,
          {{"out", "FILE", "a new .pt, .pth or .safetensors file"},
           {"ema", "", "the averaged weights instead (.safetensors)"},
           {"json", "", "print the report as JSON (ExportReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
