#include "format/random/philox.h"

#include <cassert>

#include "format/random/mix.h"

namespace reprise {
namespace {

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32Ten(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1),
               High(product0) ^ counter[3] ^ key[1], Low(product0)};
  }
  return counter;
}

Stream::Stream(uint64_t seed, StreamPurpose purpose, uint64_t epoch,
               uint64_t sample)
    : sample_(sample) {
  uint64_t key = KeyOf(seed, {static_cast<uint64_t>(purpose), epoch});
  key_ = {Low(key), High(key)};
}

uint32_t Stream::NextU32() {
  if (used_ == 4) {
    block_ = Philox4x32Ten(
        {Low(next_block_), High(next_block_), Low(sample_), High(sample_)},
        key_);
    ++next_block_;
    used_ = 0;
  }
  return block_[used_++];
}

uint64_t Stream::NextU64() {
  uint64_t low = NextU32();
  return low | (uint64_t{NextU32()} << 32);
}

uint32_t Stream::UniformU32Below(uint32_t bound) {
  assert(bound >= 1);
  // The first 2^32 mod bound products of each residue are surplus.
  uint32_t surplus = (0u - bound) % bound;
  uint64_t product;
  do {
    product = uint64_t{NextU32()} * bound;
  } while (Low(product) < surplus);
  return High(product);
}

double Stream::UniformDouble() {
  return static_cast<double>(NextU64() >> 11) * 0x1p-53;
}

}  // namespace reprise
