#include "format/digest/chunk_digest.h"

#include <xxhash.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "format/digest/canonical_hasher.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// Byte i is (i * 131 + i / 256) mod 256: what the vectors are made of.
std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(i * 131 + i / 256);
  }
  return bytes;
}

std::string RootOf(const std::string& bytes, int threads = 1) {
  return RootDigest(bytes.size(), ChunkDigests(bytes, threads));
}

// Computed by spec/reader's implementation, which shares no code with this.
TEST(ChunkDigest, RootsAreThoseOfTheVectors) {
  std::ifstream file("spec/vectors/v2/digests.tsv");
  ASSERT_TRUE(file.is_open());
  std::string line;
  int vectors = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    ASSERT_EQ(columns.size(), 2u) << line;
    size_t size = 0;
    ASSERT_TRUE(absl::SimpleAtoi(columns[0], &size)) << line;
    EXPECT_EQ(absl::BytesToHexString(RootOf(Pattern(size))), columns[1])
        << line;
    ++vectors;
  }
  EXPECT_GE(vectors, 10);
}

TEST(ChunkDigest, ChunksAreXxh3OfSixtyFourKibibytes) {
  const std::string bytes = Pattern(3 * kDigestChunkBytes + 5);
  const std::vector<uint64_t> chunks = ChunkDigests(bytes);
  ASSERT_EQ(chunks.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const std::string chunk =
        bytes.substr(i * kDigestChunkBytes, kDigestChunkBytes);
    EXPECT_EQ(chunks[i], XXH3_64bits(chunk.data(), chunk.size())) << i;
  }
}

TEST(ChunkDigest, ThreadsChangeNothing) {
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{65536}, size_t{65537}, size_t{1000003}}) {
    const std::string bytes = Pattern(size);
    const std::vector<uint64_t> alone = ChunkDigests(bytes);
    EXPECT_EQ(alone.size(), ChunkCount(size));
    for (int threads : {2, 3, 7, 64}) {
      EXPECT_EQ(ChunkDigests(bytes, threads), alone) << size << " " << threads;
    }
  }
}

TEST(ChunkDigest, LengthIsPartOfTheRoot) {
  EXPECT_NE(RootDigest(65536, {7}), RootDigest(65535, {7}));
  EXPECT_NE(RootOf(""), RootOf(std::string(1, '\0')));
}

// Rules: VALUE-2
TEST(CanonicalHasher, IsXxh3OfTheSequence) {
  CanonicalHasher hasher;
  hasher.Number(0x0102);
  hasher.String("ab");
  const std::string bytes("\x02\x01\0\0\0\0\0\0\x02\0\0\0\0\0\0\0ab", 18);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical,
                           XXH3_128bits(bytes.data(), bytes.size()));
  EXPECT_EQ(hasher.Finish(),
            std::string(reinterpret_cast<const char*>(canonical.digest), 16));
}

}  // namespace
}  // namespace reprise
