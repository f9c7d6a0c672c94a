#include "format/v2/shard_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "format/digest/chunk_digest.h"
#include "format/refusal.h"
#include "format/v2/parallel.h"
#include "format/v2/shard_layout.h"

namespace reprise {
namespace {

// Smaller tensors are put together before they are written.
constexpr uint64_t kLargeBytes = uint64_t{1} << 18;
constexpr uint64_t kPieceBytes = uint64_t{1} << 23;
// What is digested and then written while it is in the cache: whole chunks.
constexpr uint64_t kBlockBytes = uint64_t{1} << 19;
constexpr uint32_t kReadOnly = 0444;

class Writer {
 public:
  Writer(FileSystem* file_system, const std::vector<ListedTensor>& tensors,
         const std::vector<TableEntry>& entries,
         const std::vector<ShardInfo>& shards, DigestFunction digest)
      : file_system_(file_system),
        tensors_(tensors),
        entries_(entries),
        shards_(shards),
        digest_(digest) {}

  absl::StatusOr<std::vector<Chunks>> Write(const std::string& folder,
                                            int threads) {
    for (const TableEntry& entry : entries_) {
      const bool has_bytes = !entry.extents.empty();
      chunks_.emplace_back(has_bytes ? ChunkCount(entry.num_bytes()) : 0);
    }
    absl::Status status = Create(folder);
    const std::vector<Piece> pieces =
        PlanPieces(entries_, shards_, kLargeBytes, kPieceBytes);
    if (status.ok()) {
      status = ParallelFor(threads, pieces.size(),
                           [&](size_t i) { return WritePiece(pieces[i]); });
    }
    if (status.ok()) {
      status = ParallelFor(threads, files_.size(),
                           [&](size_t i) { return files_[i]->SyncData(); });
    }
    // Closed in any case; the first error counts.
    for (std::unique_ptr<File>& file : files_) status.Update(file->Close());
    if (!status.ok()) return status;
    return std::move(chunks_);
  }

 private:
  absl::Status Create(const std::string& folder) {
    for (const ShardInfo& shard : shards_) {
      absl::StatusOr<std::unique_ptr<File>> file =
          file_system_->CreateExclusive(JoinPath(folder, ShardName(shard)),
                                        kReadOnly);
      if (!file.ok()) return file.status();
      files_.push_back(*std::move(file));
    }
    return absl::OkStatus();
  }

  absl::Status WritePiece(const Piece& piece) {
    if (piece.large) {
      const PiecePart& part = piece.parts[0];
      const Tensor& tensor = *tensors_[part.entry].tensor;
      if (tensor.data() != nullptr && tensor.IsDense()) {
        // From where it is, without a copy.
        return Put(piece,
                   static_cast<const char*>(tensor.data()) + part.offset);
      }
    }
    // Gaps stay zero.
    std::string buffer(piece.length, '\0');
    for (const PiecePart& part : piece.parts) {
      const Extent& extent = entries_[part.entry].extents[part.extent];
      char* out = &buffer[extent.offset + part.offset - piece.offset];
      absl::Status status =
          tensors_[part.entry].tensor->CopyBytes(part.offset, part.length, out);
      if (!status.ok()) {
        return Annotate(status, entries_[part.entry].Describe());
      }
    }
    return Put(piece, buffer.data());
  }

  absl::Status Put(const Piece& piece, const char* bytes) {
    File* const file = files_[piece.shard].get();
    absl::Status status;
    if (piece.large) {
      uint64_t* chunks = ChunksOf(piece.parts[0]);
      for (uint64_t at = 0; status.ok() && at < piece.length;
           at += kBlockBytes) {
        const uint64_t size = std::min(kBlockBytes, piece.length - at);
        digest_(bytes + at, size, chunks + at / kDigestChunkBytes);
        status = WriteAll(file, piece.offset + at,
                          absl::string_view(bytes + at, size));
      }
    } else {
      for (const PiecePart& part : piece.parts) {
        const Extent& extent = entries_[part.entry].extents[part.extent];
        digest_(bytes + (extent.offset + part.offset - piece.offset),
                part.length, ChunksOf(part));
      }
      status =
          WriteAll(file, piece.offset, absl::string_view(bytes, piece.length));
    }
    // The device works while the next piece is digested and copied.
    if (status.ok()) file->StartWriting(piece.offset, piece.length);
    return status;
  }

  uint64_t* ChunksOf(const PiecePart& part) {
    return chunks_[part.entry].data() + part.offset / kDigestChunkBytes;
  }

  FileSystem* const file_system_;
  const std::vector<ListedTensor>& tensors_;
  const std::vector<TableEntry>& entries_;
  const std::vector<ShardInfo>& shards_;
  const DigestFunction digest_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Chunks> chunks_;
};

}  // namespace

absl::StatusOr<std::vector<Chunks>> WriteShards(
    FileSystem* file_system, const std::string& folder, int threads,
    const std::vector<ListedTensor>& tensors,
    const std::vector<TableEntry>& entries,
    const std::vector<ShardInfo>& shards, DigestFunction digest) {
  return Writer(file_system, tensors, entries, shards, digest)
      .Write(folder, threads);
}

absl::Status WriteDurably(FileSystem* file_system, const std::string& path,
                          absl::string_view bytes) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->CreateExclusive(path, kReadOnly);
  if (!file.ok()) return file.status();
  absl::Status status = WriteAll(file->get(), 0, bytes);
  if (status.ok()) status = (*file)->SyncData();
  status.Update((*file)->Close());
  return status;
}

}  // namespace reprise
