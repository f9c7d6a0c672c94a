#include "format/run_listing.h"

#include <errno.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "format/io/io_error.h"
#include "format/manifest_fields.h"
#include "format/manifest_file.h"
#include "format/refusal.h"
#include "format/version.h"
#include "reprise/spec/v1/checkpoint.pb.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {
namespace {

namespace v1 = ::reprise::checkpoint::v1;
namespace v2 = ::reprise::checkpoint::v2;

// A line.
constexpr size_t kLatestLimit = 4096;

template <typename Message>
void CommonFields(const Message& message, ListedCheckpoint* out) {
  out->run_id = message.run().run_id();
  out->attempt = message.run().attempt();
  out->writer = message.about().writer();
  out->host = message.about().host();
  out->created_unix_nanos = message.about().created_unix_nanos();
  if (message.run().has_parent()) {
    const auto& parent = message.run().parent();
    out->parent = ParentRef{parent.step(), parent.manifest_digest()};
  }
}

absl::Status ReadV1Fields(File* file, uint64_t length, ListedCheckpoint* out) {
  v1::Checkpoint message;
  absl::Status status = ReadManifestFields(
      file, kEnvelopeSize, length,
      {v1::Checkpoint::kRunFieldNumber, v1::Checkpoint::kAboutFieldNumber},
      &message);
  if (status.ok()) CommonFields(message, out);
  return status;
}

absl::Status ReadV2Fields(File* file, uint64_t length, ListedCheckpoint* out) {
  v2::Manifest message;
  absl::Status status = ReadManifestFields(
      file, kEnvelopeSize, length,
      {v2::Manifest::kRunFieldNumber,
       v2::Manifest::kRequiredFeaturesFieldNumber,
       v2::Manifest::kValueDigestFieldNumber, v2::Manifest::kBestFieldNumber,
       v2::Manifest::kAboutFieldNumber},
      &message);
  if (!status.ok()) return status;
  CommonFields(message, out);
  if (out->parent.has_value()) {
    out->parent->value_digest = message.run().parent().value_digest();
  }
  out->value_digest = message.value_digest();
  if (message.has_best() && message.best().has_step()) {
    const v2::Best& best = message.best();
    out->best =
        BestState{best.metric(), best.direction() == v2::HIGHER_IS_BETTER,
                  best.value(), best.step()};
  }
  if (message.required_features_size() == 0) return status;
  return MakeRefusal(Refusal::UNKNOWN_FEATURE,
                     absl::StrCat("the file needs the feature \"",
                                  message.required_features(0),
                                  "\", which this program does not know"));
}

absl::Status ReadFields(const std::string& manifest, FileSystem* file_system,
                        ListedCheckpoint* out) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->OpenForReading(manifest);
  if (!file.ok()) {
    if (ErrnoOf(file.status()) != ENOENT) return file.status();
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat("no ", kManifestName, " in it"));
  }
  absl::StatusOr<FileInfo> info = (*file)->Stat();
  if (!info.ok()) return info.status();
  std::string head(std::min<uint64_t>(info->size, 512), '\0');
  absl::Status status = ReadExactly(file->get(), 0, &head[0], head.size());
  if (!status.ok()) return status;
  absl::StatusOr<Envelope> envelope = DecodeEnvelope(head, info->size);
  if (!envelope.ok()) return envelope.status();
  out->major = envelope->major;
  out->minor = envelope->minor;
  out->manifest_digest = envelope->manifest_digest;
  envelope = OpenEnvelope(head, info->size);
  if (!envelope.ok()) return envelope.status();
  return out->major == kV1Major
             ? ReadV1Fields(file->get(), envelope->manifest_length, out)
             : ReadV2Fields(file->get(), envelope->manifest_length, out);
}

// Of the entries of `folder`, which lies in the run folder as `branch`.
absl::Status AddBranch(const std::string& folder, const std::string& branch,
                       FileSystem* file_system, RunListing* listing) {
  absl::StatusOr<std::vector<RunEntry>> entries =
      ListRunEntries(folder, file_system);
  if (!entries.ok()) return entries.status();
  std::reverse(entries->begin(), entries->end());
  std::stable_partition(
      entries->begin(), entries->end(),
      [](const RunEntry& e) { return e.position.has_value(); });
  for (const RunEntry& entry : *entries) {
    ListedCheckpoint listed =
        ListCheckpoint(JoinPath(folder, entry.name), file_system);
    listed.branch = branch;
    listing->checkpoints.push_back(std::move(listed));
  }
  return absl::OkStatus();
}

absl::Status AddAbandoned(const std::string& run_folder,
                          FileSystem* file_system, RunListing* listing) {
  const std::string abandoned = JoinPath(run_folder, kAbandonedName);
  absl::StatusOr<std::vector<FolderEntry>> attempts =
      file_system->List(abandoned);
  if (!attempts.ok()) {
    return ErrnoOf(attempts.status()) == ENOENT ? absl::OkStatus()
                                                : attempts.status();
  }
  std::set<std::pair<uint64_t, std::string>> sorted;
  for (const FolderEntry& entry : *attempts) {
    uint64_t attempt = 0;
    if (entry.kind == FileKind::kFolder &&
        absl::SimpleAtoi(entry.name, &attempt)) {
      sorted.emplace(attempt, entry.name);
    }
  }
  for (const auto& [attempt, name] : sorted) {
    absl::Status status =
        AddBranch(JoinPath(abandoned, name), JoinPath(kAbandonedName, name),
                  file_system, listing);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void MarkBest(RunListing* listing) {
  std::optional<uint64_t> best_step;
  for (const ListedCheckpoint& checkpoint : listing->checkpoints) {
    if (checkpoint.branch.empty() && checkpoint.status.ok()) {
      best_step = checkpoint.best.has_value()
                      ? std::make_optional(checkpoint.best->step)
                      : std::nullopt;
    }
  }
  if (!best_step.has_value()) return;
  for (ListedCheckpoint& checkpoint : listing->checkpoints) {
    checkpoint.is_best = checkpoint.branch.empty() &&
                         checkpoint.position.has_value() &&
                         checkpoint.position->step == *best_step &&
                         !checkpoint.position->micro.has_value();
  }
}

}  // namespace

ListedCheckpoint ListCheckpoint(const std::string& given_path,
                                FileSystem* file_system) {
  const std::string path = WithoutTrailingSlashes(given_path);
  ListedCheckpoint listed;
  listed.name = BaseName(path);
  listed.position = ParseCheckpointName(listed.name);
  absl::StatusOr<FileInfo> info = file_system->LinkStat(path);
  if (!info.ok()) {
    listed.status = info.status();
    return listed;
  }
  if (info->kind != FileKind::kFolder) {
    listed.bytes = info->size;
    listed.status = MakeRefusal(Refusal::NOT_A_CHECKPOINT, "not a folder");
    return listed;
  }
  absl::StatusOr<std::shared_ptr<FileSystem>> within =
      file_system->Within(path);
  if (!within.ok()) {
    listed.status = within.status();
    return listed;
  }
  absl::StatusOr<std::vector<FolderEntry>> files = (*within)->List(path);
  if (!files.ok()) {
    listed.status = files.status();
    return listed;
  }
  for (const FolderEntry& file : *files) listed.bytes += file.size;
  listed.status =
      ReadFields(JoinPath(path, kManifestName), within->get(), &listed);
  return listed;
}

absl::StatusOr<RunListing> ListRun(const std::string& run_folder,
                                   FileSystem* outer) {
  absl::StatusOr<FileInfo> info = outer->Stat(run_folder);
  if (!info.ok()) return info.status();
  if (info->kind != FileKind::kFolder) {
    return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                       absl::StrCat(run_folder, ": not a folder"));
  }
  absl::StatusOr<std::shared_ptr<FileSystem>> within =
      outer->Within(run_folder);
  if (!within.ok()) return within.status();
  FileSystem* const file_system = within->get();
  RunListing listing;
  absl::Status status = AddBranch(run_folder, "", file_system, &listing);
  if (status.ok()) status = AddAbandoned(run_folder, file_system, &listing);
  if (!status.ok()) return status;
  MarkBest(&listing);
  absl::StatusOr<std::string> latest = ReadSmallFile(
      file_system, JoinPath(run_folder, kLatestName), kLatestLimit);
  if (latest.ok()) {
    listing.latest = std::string(absl::StripSuffix(*latest, "\n"));
  }
  absl::StatusOr<std::vector<FolderEntry>> all = file_system->List(run_folder);
  if (!all.ok()) return all.status();
  for (const FolderEntry& entry : *all) {
    if (IsLeftover(entry.name)) listing.leftovers.push_back(entry.name);
  }
  return listing;
}

}  // namespace reprise
