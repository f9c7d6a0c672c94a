// Where in which shard the bytes of each tensor go, and the pieces in which
// they are written and read. Thread-safe.
#ifndef REPRISE_FORMAT_V2_SHARD_LAYOUT_H_
#define REPRISE_FORMAT_V2_SHARD_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "format/v2/tensor_table.h"

namespace reprise {

// Gives an extent to every entry that needs one and that `wanted` (of the same
// length) names, in the order of the table: shards of one writer, numbered from
// 0, each full when it has `shard_bytes`. A tensor is never split. The layout
// does not depend on threads. Returns the shards.
std::vector<ShardInfo> PlanShards(uint32_t writer, uint64_t shard_bytes,
                                  const std::vector<bool>& wanted,
                                  std::vector<TableEntry>* entries);

// One extent of one entry, or the part of it that a piece has.
struct PiecePart {
  size_t entry = 0;
  size_t extent = 0;
  uint64_t offset = 0;  // in the extent
  uint64_t length = 0;
};

// A run of bytes of one shard: many whole small extents with the gaps between
// them, or a part of one large extent.
struct Piece {
  uint32_t shard = 0;
  uint64_t offset = 0;  // in the shard
  uint64_t length = 0;
  std::vector<PiecePart> parts;
  bool large = false;  // parts[0] is all of it
};

// Pieces that cover every byte of every shard once, at most `piece_bytes` each
// (a multiple of 64 KiB) but where one small extent is larger. Parts begin at
// multiples of 64 KiB of their extent. Extents of `large_bytes` or more are
// large; the gaps around them are pieces of their own.
std::vector<Piece> PlanPieces(const std::vector<TableEntry>& entries,
                              const std::vector<ShardInfo>& shards,
                              uint64_t large_bytes, uint64_t piece_bytes);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_SHARD_LAYOUT_H_
