// XXH3-64 of one chunk (format/digest/chunk_digest.h), computed by 32 threads
// that work together, on a GPU or, for tests, one after another on the CPU.
//
// The algorithm is XXH3's for inputs of more than 240 bytes with its default
// secret: eight accumulators; in each block of 1,024 bytes the contributions
// of its sixteen stripes are sums, so they can be added in any order. Thread t
// takes accumulator t % 8 and every fourth stripe from t / 8 on.
// Source: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
//
// A Warp says how 32 values are held and exchanged:
//
//   struct Warp {
//     using Value;                                   // one u64 a thread
//     template <typename F> static Value Make(F f);  // f(thread) of each
//     template <typename F> static Value Map(Value v, F f);  // f(thread, own)
//     static Value Add(Value a, Value b);
//     static Value ShuffleXor(Value v, int mask);    // of thread t ^ mask
//     static uint64_t At(const Value& v, int thread);
//   };
#ifndef REPRISE_TRAINER_CUDA_WARP_DIGEST_H_
#define REPRISE_TRAINER_CUDA_WARP_DIGEST_H_

#include <cstdint>

#ifdef __CUDACC__
#define REPRISE_DEVICE __host__ __device__
#else
#define REPRISE_DEVICE
#endif

namespace reprise::cuda {

// Smaller chunks have another formula; they are left to the CPU.
constexpr uint64_t kSmallestDeviceChunk = 241;

constexpr uint64_t kPrime32_1 = 0x9E3779B1u;
constexpr uint64_t kPrime32_2 = 0x85EBCA77u;
constexpr uint64_t kPrime32_3 = 0xC2B2AE3Du;
constexpr uint64_t kPrime64_1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime64_2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime64_3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime64_4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime64_5 = 0x27D4EB2F165667C5u;

constexpr int kSecretSize = 192;
constexpr int kStripe = 64;
constexpr int kStripesOfBlock = (kSecretSize - kStripe) / 8;
constexpr int kBlock = kStripe * kStripesOfBlock;

// The 8 bytes of the default secret that begin at `offset`.
REPRISE_DEVICE inline uint64_t Secret64(int offset) {
  constexpr uint64_t kWords[kSecretSize / 8] = {
      0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de,
      0x1f67b3b7a4a44072, 0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82,
      0x8e2443f7744608b8, 0x4c263a81e69035e0, 0xcb00c391bb52283c,
      0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
      0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a,
      0x647378d9c97e9fc8, 0xc3ebd33483acc5ea, 0xeb6313faffa081c5,
      0x49daf0b751dd0d17, 0x9e68d429265516d3, 0xfca1477d58be162b,
      0xce31d07ad1b8f88f, 0x280416958f3acb45, 0x7e404bbbcafbd7af};
  const int word = offset / 8;
  const int shift = offset % 8 * 8;
  if (shift == 0) return kWords[word];
  return kWords[word] >> shift | kWords[word + 1] << (64 - shift);
}

// 8 little-endian bytes at any address.
REPRISE_DEVICE inline uint64_t Load64(const uint8_t* bytes) {
  if ((reinterpret_cast<uintptr_t>(bytes) & 7) == 0) {
    return *reinterpret_cast<const uint64_t*>(bytes);
  }
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) {
    value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

REPRISE_DEVICE inline uint64_t MultiplyFold(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return (a * b) ^ __umul64hi(a, b);
#else
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#endif
}

REPRISE_DEVICE inline uint64_t FirstAccumulator(int lane) {
  switch (lane) {
    case 0:
      return kPrime32_3;
    case 1:
      return kPrime64_1;
    case 2:
      return kPrime64_2;
    case 3:
      return kPrime64_3;
    case 4:
      return kPrime64_4;
    case 5:
      return kPrime32_2;
    case 6:
      return kPrime64_5;
    default:
      return kPrime32_1;
  }
}

// What a thread's stripes add to its own accumulator (products) or to its
// neighbour's (the bytes themselves).
struct StripeSum {
  const uint8_t* bytes;
  int stripes;  // in this block
  bool products;

  REPRISE_DEVICE uint64_t operator()(int thread) const {
    const int lane = thread % 8;
    uint64_t sum = 0;
    for (int stripe = thread / 8; stripe < stripes; stripe += 4) {
      const uint64_t data = Load64(bytes + stripe * kStripe + 8 * lane);
      const uint64_t key = data ^ Secret64(8 * stripe + 8 * lane);
      sum += products ? (key & 0xffffffff) * (key >> 32) : data;
    }
    return sum;
  }
};

// The same for the last 64 bytes, which overlap what came before.
struct LastStripe {
  const uint8_t* bytes;
  bool products;

  REPRISE_DEVICE uint64_t operator()(int thread) const {
    if (thread >= 8) return 0;
    const uint64_t data = Load64(bytes + 8 * thread);
    const uint64_t key =
        data ^ Secret64(kSecretSize - kStripe - 7 + 8 * thread);
    return products ? (key & 0xffffffff) * (key >> 32) : data;
  }
};

struct FirstAccumulators {
  REPRISE_DEVICE uint64_t operator()(int thread) const {
    return FirstAccumulator(thread % 8);
  }
};

struct Scramble {
  REPRISE_DEVICE uint64_t operator()(int thread, uint64_t value) const {
    value ^= value >> 47;
    value ^= Secret64(kSecretSize - kStripe + 8 * (thread % 8));
    return value * kPrime32_1;
  }
};

// The digest of `size` bytes, kSmallestDeviceChunk to 64 KiB. Every thread of
// the warp calls it and gets it.
template <typename Warp>
REPRISE_DEVICE uint64_t WarpDigest(const uint8_t* bytes, uint64_t size) {
  using Value = typename Warp::Value;
  // Adds what all four groups of eight threads found for each accumulator.
  Value accumulators = Warp::Make(FirstAccumulators{});
  const uint64_t blocks = (size - 1) / kBlock;
  for (uint64_t block = 0; block <= blocks; ++block) {
    const uint8_t* begin = bytes + block * kBlock;
    const bool whole = block < blocks;
    const int stripes =
        whole ? kStripesOfBlock
              : static_cast<int>((size - 1 - block * kBlock) / kStripe);
    Value sum = Warp::Add(
        Warp::Make(StripeSum{begin, stripes, true}),
        Warp::ShuffleXor(Warp::Make(StripeSum{begin, stripes, false}), 1));
    if (!whole) {
      const uint8_t* last = bytes + size - kStripe;
      sum = Warp::Add(
          sum,
          Warp::Add(Warp::Make(LastStripe{last, true}),
                    Warp::ShuffleXor(Warp::Make(LastStripe{last, false}), 1)));
    }
    sum = Warp::Add(sum, Warp::ShuffleXor(sum, 8));
    sum = Warp::Add(sum, Warp::ShuffleXor(sum, 16));
    accumulators = Warp::Add(accumulators, sum);
    if (whole) accumulators = Warp::Map(accumulators, Scramble{});
  }
  uint64_t digest = size * kPrime64_1;
  for (int pair = 0; pair < 4; ++pair) {
    digest += MultiplyFold(
        Warp::At(accumulators, 2 * pair) ^ Secret64(11 + 16 * pair),
        Warp::At(accumulators, 2 * pair + 1) ^ Secret64(19 + 16 * pair));
  }
  digest ^= digest >> 37;
  digest *= 0x165667919E3779F9u;
  return digest ^ (digest >> 32);
}

}  // namespace reprise::cuda

#endif  // REPRISE_TRAINER_CUDA_WARP_DIGEST_H_
