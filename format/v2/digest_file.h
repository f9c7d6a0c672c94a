// `<shard>.digests`: the chunk digests of the tensors whose first extent lies
// in that shard, in the order of those extents. It is read only to say where
// damage is, and by a verification that looks at every byte.
//
//   offset  size   field
//        0     8   magic D2 52 50 44 0D 0A 1A 0A
//        8     8   number of chunk digests n (u64, little-endian)
//       16   8 n   chunk digests (u64 each)
//   16+8n    16    XXH3-128 of all bytes before, most significant byte first
//
// Thread-safe.
#ifndef REPRISE_FORMAT_V2_DIGEST_FILE_H_
#define REPRISE_FORMAT_V2_DIGEST_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/v2/tensor_table.h"

namespace reprise {

using Chunks = std::vector<uint64_t>;

// Indices of the entries whose first extent lies in `shard`, by its offset.
std::vector<size_t> EntriesOfDigestFile(const std::vector<TableEntry>& entries,
                                        uint32_t shard);

// The file of `shard`; `chunks` has the digests of each entry.
std::string EncodeDigestFile(const std::vector<TableEntry>& entries,
                             uint32_t shard, const std::vector<Chunks>& chunks);

// The chunk digests of each of EntriesOfDigestFile, in that order. Errors:
// CORRUPT, TRUNCATED.
absl::StatusOr<std::vector<Chunks>> DecodeDigestFile(
    absl::string_view file, const std::vector<TableEntry>& entries,
    uint32_t shard);

// Bytes of that file.
uint64_t DigestFileSize(const std::vector<TableEntry>& entries, uint32_t shard);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_DIGEST_FILE_H_
