// The GPU's code, run on the CPU with 32 threads one after another.
#include "trainer/cuda/warp_digest.h"

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "format/digest/chunk_digest.h"
#include "gtest/gtest.h"

namespace reprise::cuda {
namespace {

struct CpuWarp {
  struct Value {
    uint64_t of[32];
  };
  template <typename F>
  static Value Make(F f) {
    Value value;
    for (int t = 0; t < 32; ++t) value.of[t] = f(t);
    return value;
  }
  template <typename F>
  static Value Map(Value value, F f) {
    for (int t = 0; t < 32; ++t) value.of[t] = f(t, value.of[t]);
    return value;
  }
  static Value Add(Value a, const Value& b) {
    for (int t = 0; t < 32; ++t) a.of[t] += b.of[t];
    return a;
  }
  static Value ShuffleXor(const Value& value, int mask) {
    Value other;
    for (int t = 0; t < 32; ++t) other.of[t] = value.of[t ^ mask];
    return other;
  }
  static uint64_t At(const Value& value, int thread) {
    return value.of[thread];
  }
};

std::string RandomBytes(size_t size, std::mt19937_64* random) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

uint64_t Digest(const std::string& bytes, size_t from, size_t size) {
  return WarpDigest<CpuWarp>(
      reinterpret_cast<const uint8_t*>(bytes.data()) + from, size);
}

TEST(WarpDigest, IsTheCpusDigestForEverySizeAroundBlocksAndStripes) {
  std::mt19937_64 random(1);
  const std::string bytes = RandomBytes(kDigestChunkBytes, &random);
  for (size_t size = kSmallestDeviceChunk; size <= 3 * kBlock; ++size) {
    ASSERT_EQ(Digest(bytes, 0, size), ChunkDigest(bytes.data(), size)) << size;
  }
  for (size_t size = kDigestChunkBytes - 70; size <= kDigestChunkBytes;
       ++size) {
    ASSERT_EQ(Digest(bytes, 0, size), ChunkDigest(bytes.data(), size)) << size;
  }
}

TEST(WarpDigest, IsTheCpusDigestAtEveryAddress) {
  std::mt19937_64 random(2);
  const std::string bytes = RandomBytes(8000, &random);
  for (size_t from = 0; from < 16; ++from) {
    ASSERT_EQ(Digest(bytes, from, 7000), ChunkDigest(bytes.data() + from, 7000))
        << from;
  }
}

TEST(WarpDigest, IsTheCpusDigestOfRandomChunks) {
  const char* given = std::getenv("REPRISE_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                         : std::random_device()();
  std::cout << "replay: bazel test //trainer/cuda:warp_digest_test "
               "--test_env=REPRISE_SEED="
            << seed << "\n";
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    const size_t size =
        kSmallestDeviceChunk +
        random() % (kDigestChunkBytes - kSmallestDeviceChunk + 1);
    const std::string bytes = RandomBytes(size, &random);
    ASSERT_EQ(Digest(bytes, 0, size), ChunkDigest(bytes.data(), size)) << size;
  }
}

}  // namespace
}  // namespace reprise::cuda
