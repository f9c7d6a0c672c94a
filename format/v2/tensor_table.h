// The table of tensors of version 2 as rows, to and from its columns.
//
// DecodeTable hands out rows only when every rule of spec/SPEC.md for the table
// holds: columns fit each other, names are sorted and unique, shapes and orders
// make sense, extents and slices fill each tensor exactly, and shards hold
// extents and alignment and nothing else. Thread-safe.
#ifndef REPRISE_FORMAT_V2_TENSOR_TABLE_H_
#define REPRISE_FORMAT_V2_TENSOR_TABLE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/dtype.h"
#include "format/vocabulary.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {

// Offsets of extents in a shard, and sizes of shards, are multiples of these.
constexpr uint64_t kExtentAlignment = 64;
constexpr uint64_t kShardAlignment = 4096;

// Bytes of a tensor, or of a slice of it, in a shard.
struct Extent {
  uint32_t shard = 0;  // index in the list of shards
  uint64_t offset = 0;
  uint64_t length = 0;
  // Only where a tensor has several extents.
  std::vector<uint64_t> slice_start, slice_shape;
};

struct TableEntry {
  Item item = vocab::ITEM_UNSPECIFIED;
  std::string name;
  std::string part;  // "exp_avg"; empty except for optim.moments
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  std::vector<uint32_t> order;  // dimensions, outermost first
  uint32_t alias = 0;           // 0, or 1 + index of the entry with the bytes
  std::vector<Extent> extents;
  std::string root;  // 16 bytes

  uint64_t num_bytes() const;
  // "optim.moments fc.weight/exp_avg", for messages.
  std::string Describe() const;
  auto Key() const { return std::tie(item, name, part); }
};

struct ShardInfo {
  uint32_t writer = 0;
  uint32_t number = 0;
  uint64_t size = 0;  // bytes
};

// "shard-0000-0000.bin".
std::string ShardName(const ShardInfo& shard);
// "shard-0000-0000.bin.digests".
std::string DigestFileName(const ShardInfo& shard);

// Bytes of an array of that shape. Errors: INVALID_VALUE (dtype), LIMIT (rank,
// or a product beyond 2^63 - 1).
absl::StatusOr<uint64_t> CheckedBytes(DType dtype,
                                      const std::vector<uint64_t>& shape);

// Whether tensors of that item are in the table; those of every other item have
// no place there.
bool HasTensors(Item item);

// Errors: CORRUPT, LIMIT, INVALID_VALUE, MISSING_ITEM, naming the tensor.
absl::StatusOr<std::vector<TableEntry>> DecodeTable(
    const checkpoint::v2::TensorTable& table,
    const std::vector<ShardInfo>& shards);
absl::StatusOr<std::vector<ShardInfo>> DecodeShards(
    const checkpoint::v2::Manifest& manifest);

void EncodeTable(const std::vector<TableEntry>& entries,
                 checkpoint::v2::TensorTable* table);
void EncodeShards(const std::vector<ShardInfo>& shards,
                  checkpoint::v2::Manifest* manifest);

// The rules for one entry by itself, and for all of them in their shards; the
// writer holds itself to them too.
absl::Status CheckEntry(const TableEntry& entry);
absl::Status CheckPacking(const std::vector<TableEntry>& entries,
                          const std::vector<ShardInfo>& shards);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_TENSOR_TABLE_H_
