#include "format/migrate/in_memory_v2.h"

#include <algorithm>
#include <utility>

#include "format/digest/chunk_digest.h"
#include "format/envelope.h"
#include "format/v2/parallel.h"
#include "format/v2/tensor_list.h"

namespace reprise {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

absl::StatusOr<std::string> RootOf(const Tensor& tensor) {
  const uint64_t bytes = tensor.num_bytes();
  std::vector<uint64_t> chunks(ChunkCount(bytes));
  if (tensor.data() != nullptr && tensor.IsDense()) {
    DigestChunks(tensor.data(), bytes, chunks.data());
    return RootDigest(bytes, chunks);
  }
  std::string block;
  for (uint64_t at = 0; at < bytes; at += kBlockBytes) {
    block.resize(std::min(kBlockBytes, bytes - at));
    absl::Status status = tensor.CopyBytes(at, block.size(), &block[0]);
    if (!status.ok()) return status;
    DigestChunks(block.data(), block.size(),
                 chunks.data() + at / kDigestChunkBytes);
  }
  return RootDigest(bytes, chunks);
}

}  // namespace

absl::StatusOr<InMemoryV2> ToV2InMemory(Snapshot snapshot,
                                        const SaveV2Options& options) {
  InMemoryV2 result;
  result.source = std::make_unique<Snapshot>(std::move(snapshot));
  absl::StatusOr<PlannedV2> plan = PlanV2(*result.source, options);
  if (!plan.ok()) return plan.status();
  result.plan = *std::move(plan);
  std::vector<TableEntry>& entries = result.plan.draft.tensors;
  absl::Status status =
      ParallelFor(options.threads, entries.size(), [&](size_t i) {
        if (entries[i].alias != 0) return absl::OkStatus();
        absl::StatusOr<std::string> root =
            RootOf(*result.plan.tensors[i].tensor);
        if (root.ok()) entries[i].root = *std::move(root);
        return root.status();
      });
  if (!status.ok()) return status;
  for (TableEntry& entry : entries) {
    if (entry.alias != 0) entry.root = entries[entry.alias - 1].root;
  }
  absl::StatusOr<EncodedV2> encoded =
      EncodeV2(result.plan.draft, result.plan.shards);
  if (!encoded.ok()) return encoded.status();
  result.manifest = std::move(encoded->manifest);
  result.manifest_digest = ManifestDigest(result.manifest);
  result.value_digest = std::move(encoded->value_digest);
  return result;
}

absl::StatusOr<Snapshot> InMemoryV2::Read() const {
  absl::StatusOr<ManifestV2> decoded = DecodeV2(manifest);
  if (!decoded.ok()) return decoded.status();
  Snapshot& snapshot = decoded->snapshot;
  ClearTensors(&snapshot);
  TensorPlacer placer(&snapshot);
  for (size_t i = 0; i < decoded->tensors.size(); ++i) {
    absl::Status status =
        placer.Place(decoded->tensors[i], *plan.tensors[i].tensor);
    if (!status.ok()) return status;
  }
  return std::move(snapshot);
}

}  // namespace reprise
