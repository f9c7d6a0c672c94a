// The digest of a tensor's bytes: chunks of 64 KiB, and a root over them.
//
//   chunk digest  XXH3-64 of bytes [64 KiB * i, 64 KiB * (i + 1)) of the tensor
//   root digest   XXH3-128 over the tensor's length in bytes (u64) and all
//                 chunk digests (u64 each), little-endian; 16 bytes, most
//                 significant first
//
// Chunks can be digested in any order, by several threads or on a device, and
// say where damage is. Example (a test as well):
//
//   std::vector<uint64_t> chunks = reprise::ChunkDigests(bytes);
//   std::string root = reprise::RootDigest(bytes.size(), chunks);
//
// Thread-safe.
#ifndef REPRISE_FORMAT_DIGEST_CHUNK_DIGEST_H_
#define REPRISE_FORMAT_DIGEST_CHUNK_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise {

constexpr uint64_t kDigestChunkBytes = uint64_t{1} << 16;
constexpr size_t kRootDigestBytes = 16;

// Chunks of `bytes` bytes; 0 of none.
inline uint64_t ChunkCount(uint64_t bytes) {
  return bytes / kDigestChunkBytes + (bytes % kDigestChunkBytes != 0);
}

// Of one chunk: at most 64 KiB, fewer only at the tensor's end.
uint64_t ChunkDigest(const void* data, size_t size);

// Of the chunks of bytes that begin at the start of a chunk, to `out`, which
// has room for ChunkCount(size).
void DigestChunks(const void* data, size_t size, uint64_t* out);

// Of all chunks, by up to `threads` threads; the result is the same with any.
// REQUIRES: threads >= 1.
std::vector<uint64_t> ChunkDigests(absl::string_view bytes, int threads = 1);

// REQUIRES: chunks.size() == ChunkCount(byte_length).
std::string RootDigest(uint64_t byte_length,
                       const std::vector<uint64_t>& chunks);

}  // namespace reprise

#endif  // REPRISE_FORMAT_DIGEST_CHUNK_DIGEST_H_
