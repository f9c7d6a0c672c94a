#include "format/v2/save.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "format/digest/chunk_digest.h"
#include "format/manifest_file.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/v2/shard_layout.h"
#include "format/v2/shard_writer.h"

namespace reprise {

absl::StatusOr<PlannedV2> PlanV2(const Snapshot& snapshot,
                                 const SaveV2Options& options) {
  if (options.threads < 1 || options.shard_bytes < 1) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat("save options: expected threads and "
                     "shard_bytes of at least 1, found ",
                     options.threads, " and ", options.shard_bytes));
  }
  absl::StatusOr<DraftV2> draft = DraftOf(snapshot);
  if (!draft.ok()) return draft.status();
  PlannedV2 plan;
  plan.tensors = ListTensors(snapshot);
  plan.draft = *std::move(draft);
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].tensor->is_elsewhere()) {
      return MakeRefusal(Refusal::MISSING_ITEM,
                         absl::StrCat(plan.draft.tensors[i].Describe(),
                                      ": its bytes are elsewhere, and no other "
                                      "writer takes part in this save"));
    }
  }
  plan.shards = PlanShards(0, options.shard_bytes,
                           std::vector<bool>(plan.tensors.size(), true),
                           &plan.draft.tensors);
  // With empty digests, which have the same size: is it within the limits?
  absl::Status status = EncodeV2(plan.draft, plan.shards).status();
  if (!status.ok()) return status;
  return plan;
}

absl::StatusOr<WrittenV2> WriteV2(FileSystem* file_system,
                                  const std::string& folder, PlannedV2 plan,
                                  const SaveV2Options& options) {
  absl::StatusOr<std::vector<Chunks>> chunks =
      WriteShards(file_system, folder, options.threads, plan.tensors,
                  plan.draft.tensors, plan.shards);
  if (!chunks.ok()) return chunks.status();
  return FinishV2(file_system, folder, std::move(plan.draft), plan.shards,
                  *chunks);
}

absl::StatusOr<WrittenV2> FinishV2(FileSystem* file_system,
                                   const std::string& folder, DraftV2 draft,
                                   const std::vector<ShardInfo>& shards,
                                   const std::vector<Chunks>& chunks) {
  for (size_t i = 0; i < draft.tensors.size(); ++i) {
    TableEntry& entry = draft.tensors[i];
    // The bytes of an alias are those of an earlier entry.
    entry.root = entry.alias != 0 ? draft.tensors[entry.alias - 1].root
                                  : RootDigest(entry.num_bytes(), chunks[i]);
  }
  absl::StatusOr<EncodedV2> encoded = EncodeV2(draft, shards);
  if (!encoded.ok()) return encoded.status();
  for (uint32_t s = 0; s < shards.size(); ++s) {
    absl::Status status =
        WriteDurably(file_system, JoinPath(folder, DigestFileName(shards[s])),
                     EncodeDigestFile(draft.tensors, s, chunks));
    if (!status.ok()) return status;
  }
  absl::StatusOr<std::string> digest =
      WriteManifestFile(file_system, JoinPath(folder, kManifestName), kV2Major,
                        draft.minor, encoded->manifest);
  if (!digest.ok()) return digest.status();
  absl::Status status = file_system->SyncFolder(folder);
  if (!status.ok()) return status;
  return WrittenV2{*std::move(digest), std::move(encoded->value_digest)};
}

}  // namespace reprise
