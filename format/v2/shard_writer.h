// Writes the shards of one writer and their digests on the way.
#ifndef REPRISE_FORMAT_V2_SHARD_WRITER_H_
#define REPRISE_FORMAT_V2_SHARD_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/v2/digest_file.h"
#include "format/v2/tensor_list.h"
#include "format/v2/tensor_table.h"

namespace reprise {

// Creates the shards in `folder` (read-only from the start), writes the extents
// that `entries` (of `tensors`, at the same indices) have in them, and syncs
// each. Returns the chunk digests of each entry. The bytes do not depend on
// `threads` (at least 1). Memory: 8 MiB for each thread. On error partial files
// may be left for the caller to remove. Errors: IO; what a tensor's copy
// function returns.
absl::StatusOr<std::vector<Chunks>> WriteShards(
    FileSystem* file_system, const std::string& folder, int threads,
    const std::vector<ListedTensor>& tensors,
    const std::vector<TableEntry>& entries,
    const std::vector<ShardInfo>& shards);

// Creates `path`, read-only from the start, with these bytes, and syncs it.
absl::Status WriteDurably(FileSystem* file_system, const std::string& path,
                          absl::string_view bytes);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_SHARD_WRITER_H_
