#include "tools/ckpt/verify_verb.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/run_entries.h"
#include "format/run_listing.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/inspect.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Reads every byte of a checkpoint, or of every checkpoint of a run folder, and says
what is damaged: each tensor with its first range of 64 KiB, each file. Takes no
lock and changes nothing.
)";

// Checkpoints that the paths mean.
absl::StatusOr<std::vector<std::string>> Folders(
    const std::vector<std::string>& paths) {
  FileSystem* files = FileSystem::Real();
  std::vector<std::string> folders;
  for (const std::string& given : paths) {
    const std::string path = WithoutTrailingSlashes(given);
    if (files->LinkStat(JoinPath(path, kManifestName)).ok() ||
        IsCheckpointNamed(BaseName(path))) {
      folders.push_back(path);
      continue;
    }
    absl::Status status = CheckIsRun(path);
    if (!status.ok()) return status;
    absl::StatusOr<std::vector<RunEntry>> entries = ListRunEntries(path);
    if (!entries.ok()) return entries.status();
    std::reverse(entries->begin(), entries->end());
    for (const RunEntry& entry : *entries) {
      folders.push_back(JoinPath(path, entry.name));
    }
  }
  return folders;
}

std::string StateOf(const VerifiedCheckpoint& checkpoint, bool colours) {
  if (checkpoint.whole()) return Painted("whole  ", Paint::kGood, colours);
  const std::string& refusal = checkpoint.problems(0).refusal();
  if (refusal == TextOf(Refusal::TOO_NEW) ||
      refusal == TextOf(Refusal::UNKNOWN_FEATURE)) {
    return Painted("newer  ", Paint::kWarning, colours);
  }
  if (refusal == TextOf(Refusal::ABSENT)) {
    return Painted("absent ", Paint::kBad, colours);
  }
  return Painted("DAMAGED", Paint::kBad, colours);
}

void PrintOne(const VerifiedCheckpoint& checkpoint, Streams streams) {
  streams.out << StateOf(checkpoint, streams.out_is_terminal) << "  "
              << checkpoint.path() << "  " << HumanBytes(checkpoint.bytes())
              << "\n";
  for (const Problem& problem : checkpoint.problems()) {
    streams.out << "    " << problem.refusal() << ": " << problem.message()
                << "\n";
  }
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().empty()) {
    return absl::InvalidArgumentError(
        "expected checkpoints or run folders; ckpt verify --help says more");
  }
  absl::StatusOr<std::optional<uint64_t>> threads = arguments.Count("threads");
  if (!threads.ok()) return threads.status();
  const uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  if (threads->value_or(cores) < 1 || threads->value_or(cores) > 1024) {
    return absl::InvalidArgumentError("--threads: expected 1 to 1024");
  }
  absl::StatusOr<std::vector<std::string>> folders = Folders(arguments.paths());
  if (!folders.ok()) return folders.status();
  VerifyReport report;
  absl::Status first;
  int damaged = 0;
  for (const std::string& folder : *folders) {
    VerifiedCheckpoint* checkpoint = report.add_checkpoints();
    checkpoint->set_path(folder);
    checkpoint->set_bytes(ListCheckpoint(folder).bytes);
    std::vector<absl::Status> damage;
    {
      ProgressBar bar(streams.err, streams.err_is_terminal, BaseName(folder));
      FindDamageOptions options;
      options.threads = static_cast<int>(threads->value_or(cores));
      options.progress = [&](uint64_t done, uint64_t total) {
        bar.Update(done, total);
      };
      damage = FindDamage(folder, options);
    }
    checkpoint->set_whole(damage.empty());
    for (const absl::Status& status : damage) {
      Problem* problem = checkpoint->add_problems();
      problem->set_refusal(TextOf(RefusalOf(status)));
      problem->set_message(std::string(status.message()));
    }
    if (!damage.empty() && damaged++ == 0) first = damage[0];
    if (!arguments.Has("json")) PrintOne(*checkpoint, streams);
  }
  if (arguments.Has("json")) PrintJson(report, streams.out);
  if (damaged == 0) return absl::OkStatus();
  return Annotate(
      first, absl::StrCat(damaged, " of ", report.checkpoints_size(),
                          report.checkpoints_size() == 1
                              ? " checkpoint is not in order"
                              : " checkpoints are not in order; the first"));
}

}  // namespace

Verb VerifyVerb() {
  return {"verify",
          "RUN_OR_CHECKPOINT...",
          "reads every byte and names all damage",
          kHelp,
          {{"threads", "N", "threads that read (one for each core)"},
           {"json", "", "print the result as JSON (VerifyReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
