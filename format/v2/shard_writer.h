// Writes the shards of one writer and their digests on the way.
#ifndef REPRISE_FORMAT_V2_SHARD_WRITER_H_
#define REPRISE_FORMAT_V2_SHARD_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/digest/chunk_digest.h"
#include "format/io/file_system.h"
#include "format/v2/digest_file.h"
#include "format/v2/tensor_list.h"
#include "format/v2/tensor_table.h"

namespace reprise {

// Digests chunks of 64 KiB of `size` bytes to `out` (DigestChunks).
using DigestFunction = void (*)(const void* data, size_t size, uint64_t* out);

// Creates the shards in `folder` (read-only from the start), writes the extents
// that `entries` (of `tensors`, at the same indices) have in them, and syncs
// each. Returns the chunk digests of each entry. The bytes do not depend on
// `threads` (at least 1). Memory: 8 MiB for each thread. On error partial files
// may be left for the caller to remove. Errors: IO; what a tensor's copy
// function returns. Another `digest` than the default is for measuring what
// digests cost: what it gives belongs in no checkpoint.
absl::StatusOr<std::vector<Chunks>> WriteShards(
    FileSystem* file_system, const std::string& folder, int threads,
    const std::vector<ListedTensor>& tensors,
    const std::vector<TableEntry>& entries,
    const std::vector<ShardInfo>& shards,
    DigestFunction digest = &DigestChunks);

// Creates `path`, read-only from the start, with these bytes, and syncs it.
absl::Status WriteDurably(FileSystem* file_system, const std::string& path,
                          absl::string_view bytes);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_SHARD_WRITER_H_
