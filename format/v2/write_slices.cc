// What each process of a shared save does.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/digest/chunk_digest.h"
#include "format/refusal.h"
#include "format/v2/shard_layout.h"
#include "format/v2/shard_writer.h"
#include "format/v2/shared_save.h"
#include "format/v2/slices.h"
#include "reprise/format/v2/writer_report.pb.h"

namespace reprise {
namespace {

// The entry of the whole tensor, with one extent that only says which slice.
absl::StatusOr<TableEntry> WholeEntry(const LocalSlice& slice) {
  TableEntry entry;
  entry.item = slice.item;
  entry.name = slice.name;
  entry.part = slice.part;
  entry.dtype = slice.tensor.dtype();
  entry.order = slice.tensor.DimensionOrder();
  const std::vector<int64_t>& own = slice.tensor.shape();
  const std::vector<int64_t>& shape = slice.shape.empty() ? own : slice.shape;
  std::vector<int64_t> start = slice.start;
  if (slice.shape.empty()) start.assign(own.size(), 0);
  if (shape.size() != own.size() || start.size() != own.size()) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat(entry.Describe(),
                                    ": shape, start and slice have different "
                                    "ranks"));
  }
  Extent extent;
  for (size_t d = 0; d < own.size(); ++d) {
    if (start[d] < 0 || own[d] < 0 || start[d] > shape[d] ||
        own[d] > shape[d] - start[d]) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat(entry.Describe(), ": slice [", start[d], ", +", own[d],
                       ") in dimension ", d, " of ", shape[d]));
    }
    entry.shape.push_back(static_cast<uint64_t>(shape[d]));
    extent.slice_start.push_back(static_cast<uint64_t>(start[d]));
    extent.slice_shape.push_back(static_cast<uint64_t>(own[d]));
  }
  absl::StatusOr<uint64_t> bytes = CheckedBytes(entry.dtype, entry.shape);
  if (!bytes.ok()) return Annotate(bytes.status(), entry.Describe());
  entry.extents = {std::move(extent)};
  return entry;
}

// Digests of the whole tensor's chunks that lie in the slice, and the bytes at
// its ends that do not make a chunk.
absl::Status DigestRun(const TableEntry& whole, uint64_t offset,
                       const Tensor& tensor, const Chunks& from_start,
                       format::v2::WrittenSlice* out) {
  const uint64_t length = tensor.num_bytes();
  const uint64_t end = offset + length;
  const uint64_t first = (offset + kDigestChunkBytes - 1) / kDigestChunkBytes;
  // The last chunk of the tensor may be short.
  const uint64_t past =
      end == whole.num_bytes() ? ChunkCount(end) : end / kDigestChunkBytes;
  auto bytes_of = [&](uint64_t begin, uint64_t size, std::string* bytes) {
    bytes->resize(size);
    return tensor.CopyBytes(begin - offset, size, &(*bytes)[0]);
  };
  out->set_contiguous(true);
  out->set_first_chunk(first);
  if (first >= past) return bytes_of(offset, length, out->mutable_head());
  const uint64_t head_end = first * kDigestChunkBytes;
  const uint64_t tail_begin = std::min(past * kDigestChunkBytes, end);
  absl::Status status =
      bytes_of(offset, head_end - offset, out->mutable_head());
  if (status.ok()) {
    status = bytes_of(tail_begin, end - tail_begin, out->mutable_tail());
  }
  std::string chunk;
  for (uint64_t c = first; status.ok() && c < past; ++c) {
    if (head_end == offset) {
      // The slice begins where a chunk does: writing it gave the digests.
      out->add_chunks(from_start[c - first]);
      continue;
    }
    const uint64_t begin = c * kDigestChunkBytes;
    status = bytes_of(begin, std::min(kDigestChunkBytes, end - begin), &chunk);
    out->add_chunks(ChunkDigest(chunk.data(), chunk.size()));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::string> WriteSlices(FileSystem* file_system,
                                        const std::string& folder,
                                        uint32_t writer,
                                        const std::vector<LocalSlice>& slices,
                                        const SaveV2Options& options) {
  if (options.threads < 1 || options.shard_bytes < 1) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       "save options: expected at least 1");
  }
  std::vector<TableEntry> wholes;
  // Each slice as a tensor of its own, for the shards.
  std::vector<TableEntry> parts;
  std::vector<ListedTensor> tensors;
  for (const LocalSlice& slice : slices) {
    absl::StatusOr<TableEntry> whole = WholeEntry(slice);
    if (!whole.ok()) return whole.status();
    TableEntry part = *whole;
    part.shape = whole->extents[0].slice_shape;
    part.extents.clear();
    tensors.push_back({slice.item, slice.name, slice.part, &slice.tensor});
    wholes.push_back(*std::move(whole));
    parts.push_back(std::move(part));
  }
  const std::vector<ShardInfo> shards =
      PlanShards(writer, options.shard_bytes,
                 std::vector<bool>(parts.size(), true), &parts);
  absl::StatusOr<std::vector<Chunks>> chunks =
      WriteShards(file_system, folder, options.threads, tensors, parts, shards);
  if (!chunks.ok()) return chunks.status();
  format::v2::WriterReport report;
  report.set_writer(writer);
  for (const ShardInfo& shard : shards) {
    auto* out = report.add_shards();
    out->set_writer(shard.writer);
    out->set_number(shard.number);
    out->set_size(shard.size);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].extents.empty()) continue;  // no elements
    const TableEntry& whole = wholes[i];
    const Extent& placed = parts[i].extents[0];
    format::v2::WrittenSlice* out = report.add_slices();
    out->set_item(whole.item);
    out->set_name(whole.name);
    out->set_part(whole.part);
    out->set_dtype(static_cast<checkpoint::v2::DType>(whole.dtype));
    const Extent& where = whole.extents[0];
    *out->mutable_shape() = {whole.shape.begin(), whole.shape.end()};
    *out->mutable_order() = {whole.order.begin(), whole.order.end()};
    *out->mutable_start() = {where.slice_start.begin(),
                             where.slice_start.end()};
    *out->mutable_slice_shape() = {where.slice_shape.begin(),
                                   where.slice_shape.end()};
    out->set_shard(placed.shard);
    out->set_offset(placed.offset);
    out->set_length(placed.length);
    const std::optional<uint64_t> offset = ContiguousOffset(whole, where);
    if (!offset.has_value()) continue;
    absl::Status status =
        DigestRun(whole, *offset, slices[i].tensor, (*chunks)[i], out);
    if (!status.ok()) return Annotate(status, whole.Describe());
  }
  return report.SerializeAsString();
}

}  // namespace reprise
