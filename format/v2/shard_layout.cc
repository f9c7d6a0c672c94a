#include "format/v2/shard_layout.h"

#include <algorithm>
#include <utility>

namespace reprise {
namespace {

uint64_t RoundUp(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

// Builds the pieces of one shard, front to back.
class PieceBuilder {
 public:
  PieceBuilder(uint32_t shard, uint64_t large_bytes, uint64_t piece_bytes,
               std::vector<Piece>* pieces)
      : large_bytes_(large_bytes), piece_bytes_(piece_bytes), pieces_(pieces) {
    current_.shard = shard;
  }

  void Add(size_t entry, size_t index, const Extent& extent) {
    if (extent.length < large_bytes_) {
      const uint64_t end = extent.offset + extent.length;
      if (!current_.parts.empty() && end - current_.offset > piece_bytes_) {
        Finish(extent.offset);
      }
      current_.parts.push_back({entry, index, 0, extent.length});
      return;
    }
    Finish(extent.offset);
    for (uint64_t at = 0; at < extent.length; at += piece_bytes_) {
      Piece piece;
      piece.shard = current_.shard;
      piece.offset = extent.offset + at;
      piece.length = std::min(piece_bytes_, extent.length - at);
      piece.parts.push_back({entry, index, at, piece.length});
      piece.large = true;
      pieces_->push_back(std::move(piece));
    }
    current_.offset = extent.offset + extent.length;
  }

  // Ends the piece in hand at `end`, if it has any bytes.
  void Finish(uint64_t end) {
    current_.length = end - current_.offset;
    const uint32_t shard = current_.shard;
    if (current_.length > 0) pieces_->push_back(std::move(current_));
    current_ = Piece();
    current_.shard = shard;
    current_.offset = end;
  }

 private:
  const uint64_t large_bytes_;
  const uint64_t piece_bytes_;
  std::vector<Piece>* const pieces_;
  Piece current_;
};

}  // namespace

std::vector<ShardInfo> PlanShards(uint32_t writer, uint64_t shard_bytes,
                                  const std::vector<bool>& wanted,
                                  std::vector<TableEntry>* entries) {
  std::vector<ShardInfo> shards;
  uint64_t end = 0;
  for (size_t i = 0; i < entries->size(); ++i) {
    TableEntry& entry = (*entries)[i];
    const uint64_t bytes = entry.num_bytes();
    if (!wanted[i] || bytes == 0 || entry.alias != 0) continue;
    if (shards.empty() || end >= shard_bytes) {
      if (!shards.empty()) shards.back().size = RoundUp(end, kShardAlignment);
      shards.push_back({writer, static_cast<uint32_t>(shards.size()), 0});
      end = 0;
    }
    Extent extent;
    extent.shard = static_cast<uint32_t>(shards.size() - 1);
    extent.offset = RoundUp(end, kExtentAlignment);
    extent.length = bytes;
    end = extent.offset + bytes;
    entry.extents = {std::move(extent)};
  }
  if (!shards.empty()) shards.back().size = RoundUp(end, kShardAlignment);
  return shards;
}

std::vector<Piece> PlanPieces(const std::vector<TableEntry>& entries,
                              const std::vector<ShardInfo>& shards,
                              uint64_t large_bytes, uint64_t piece_bytes) {
  std::vector<std::vector<std::pair<size_t, size_t>>> of_shard(shards.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t e = 0; e < entries[i].extents.size(); ++e) {
      of_shard[entries[i].extents[e].shard].emplace_back(i, e);
    }
  }
  auto extent_of =
      [&entries](const std::pair<size_t, size_t>& at) -> const Extent& {
    return entries[at.first].extents[at.second];
  };
  std::vector<Piece> pieces;
  for (size_t s = 0; s < shards.size(); ++s) {
    std::sort(of_shard[s].begin(), of_shard[s].end(),
              [&](const auto& a, const auto& b) {
                return extent_of(a).offset < extent_of(b).offset;
              });
    PieceBuilder builder(static_cast<uint32_t>(s), large_bytes, piece_bytes,
                         &pieces);
    for (const auto& at : of_shard[s]) {
      builder.Add(at.first, at.second, extent_of(at));
    }
    builder.Finish(shards[s].size);
  }
  return pieces;
}

}  // namespace reprise
