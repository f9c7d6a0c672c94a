#include "format/v2/digest_file.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/digest/canonical_hasher.h"
#include "format/digest/chunk_digest.h"
#include "format/little_endian.h"
#include "format/refusal.h"

namespace reprise {
namespace {

constexpr absl::string_view kMagic("\xd2\x52\x50\x44\x0d\x0a\x1a\x0a", 8);
constexpr size_t kHeaderBytes = 16;
constexpr size_t kTrailerBytes = 16;

std::string Xxh3(absl::string_view bytes) {
  CanonicalHasher hasher;
  hasher.Raw(bytes);
  return hasher.Finish();
}

uint64_t CountOf(const std::vector<TableEntry>& entries, uint32_t shard) {
  uint64_t count = 0;
  for (size_t index : EntriesOfDigestFile(entries, shard)) {
    count += ChunkCount(entries[index].num_bytes());
  }
  return count;
}

}  // namespace

std::vector<size_t> EntriesOfDigestFile(const std::vector<TableEntry>& entries,
                                        uint32_t shard) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].extents.empty() && entries[i].extents[0].shard == shard) {
      indices.push_back(i);
    }
  }
  std::sort(indices.begin(), indices.end(), [&](size_t a, size_t b) {
    return entries[a].extents[0].offset < entries[b].extents[0].offset;
  });
  return indices;
}

std::string EncodeDigestFile(const std::vector<TableEntry>& entries,
                             uint32_t shard,
                             const std::vector<Chunks>& chunks) {
  std::string file(kMagic);
  AppendLittleEndian<uint64_t>(CountOf(entries, shard), &file);
  for (size_t index : EntriesOfDigestFile(entries, shard)) {
    for (uint64_t chunk : chunks[index]) {
      AppendLittleEndian<uint64_t>(chunk, &file);
    }
  }
  file += Xxh3(file);
  return file;
}

uint64_t DigestFileSize(const std::vector<TableEntry>& entries,
                        uint32_t shard) {
  return kHeaderBytes + 8 * CountOf(entries, shard) + kTrailerBytes;
}

absl::StatusOr<std::vector<Chunks>> DecodeDigestFile(
    absl::string_view file, const std::vector<TableEntry>& entries,
    uint32_t shard) {
  const uint64_t expected = DigestFileSize(entries, shard);
  if (file.size() != expected) {
    return MakeRefusal(
        file.size() < expected ? Refusal::TRUNCATED : Refusal::CORRUPT,
        absl::StrCat("expected ", expected, " bytes, found ", file.size()));
  }
  const absl::string_view body = file.substr(0, file.size() - kTrailerBytes);
  if (Xxh3(body) != file.substr(body.size())) {
    return MakeRefusal(
        Refusal::CORRUPT,
        absl::StrCat("digest of the file: expected ",
                     absl::BytesToHexString(Xxh3(body)), ", found ",
                     absl::BytesToHexString(file.substr(body.size()))));
  }
  if (file.substr(0, 8) != kMagic ||
      LoadLittleEndian<uint64_t>(file, 8) != CountOf(entries, shard)) {
    return MakeRefusal(Refusal::CORRUPT,
                       "magic or number of digests is not what it should be");
  }
  std::vector<Chunks> result;
  size_t position = kHeaderBytes;
  for (size_t index : EntriesOfDigestFile(entries, shard)) {
    Chunks& chunks =
        result.emplace_back(ChunkCount(entries[index].num_bytes()));
    for (uint64_t& chunk : chunks) {
      chunk = LoadLittleEndian<uint64_t>(file, position);
      position += 8;
    }
  }
  return result;
}

}  // namespace reprise
