#include "tools/ckpt/export_verb.h"

#include <unistd.h>

#include <algorithm>
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
#include "google/protobuf/util/json_util.h"
#include "reprise/tools/ckpt/report.pb.h"
#include "tools/ckpt/locate.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Writes the newest checkpoint of a run folder, or the checkpoint given, as a file
that Python opens: NAME.pt with torch.load(NAME, weights_only=True), a dict
{model, optimizer, scheduler, scaler, ema, step, ...} whose parts the
load_state_dict of torch's own classes takes; NAME.safetensors with
safetensors.torch.load_file, weights only. An existing file is never replaced.
)";

// Items that a torch file holds.
const std::vector<Item>& ExportedItems() {
  static const auto* items =
      new std::vector<Item>{Item::MODEL_PARAMS,     Item::MODEL_BUFFERS,
                            Item::MODEL_TIES,       Item::OPTIM_KIND,
                            Item::OPTIM_GROUPS,     Item::OPTIM_MOMENTS,
                            Item::OPTIM_STEP,       Item::OPTIM_IDENTITY,
                            Item::SCHED_POSITION,   Item::SCHED_BASE,
                            Item::SCHED_APPLIED,    Item::SCALER_SCALE,
                            Item::SCALER_CONFIG,    Item::SCALER_GROWTH_TRACKER,
                            Item::EMA_WEIGHTS,      Item::COUNTERS_STEP,
                            Item::COUNTERS_APPLIED, Item::COUNTERS_SKIPPED,
                            Item::COUNTERS_SAMPLES};
  return *items;
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
  if (!bytes.ok()) return bytes.status();

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
    const std::vector<Item>& exported = ExportedItems();
    const size_t kept = safetensors ? 2 : exported.size();
    if (std::find(exported.begin(), exported.begin() + kept, record.item) ==
        exported.begin() + kept) {
      report.add_not_exported(TextOf(record.item));
    }
  }
  if (arguments.Has("json")) {
    std::string json;
    // A message of strings and numbers always has a JSON form.
    (void)google::protobuf::util::MessageToJsonString(report, &json);
    streams.out << json << "\n";
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
