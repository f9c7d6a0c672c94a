#include "format/random/keyed_permutation.h"

#include <cstdint>
#include <string>
#include <vector>

#include "format/random/read_vectors.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// Chi-square of `counts` against equal expectation.
double ChiSquare(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (int count : counts) {
    sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

void ExpectBijection(uint64_t size, uint64_t seed, uint64_t epoch) {
  KeyedPermutation order(size, seed, epoch);
  std::vector<bool> seen(size);
  for (uint64_t index = 0; index < size; ++index) {
    uint64_t value = order(index);
    ASSERT_LT(value, size) << "size " << size << " index " << index;
    ASSERT_FALSE(seen[value]) << "size " << size << " repeats " << value;
    seen[value] = true;
  }
}

TEST(FeistelV1, AgreesWithReleasedVectors) {
  for (const auto& row : ReadVectors("feistel-v1")) {
    ASSERT_EQ(row.size(), 5u);
    KeyedPermutation order(std::stoull(row[0]), std::stoull(row[1]),
                           std::stoull(row[2]));
    EXPECT_EQ(order(std::stoull(row[3])), std::stoull(row[4]))
        << "size " << row[0] << " seed " << row[1] << " epoch " << row[2]
        << " index " << row[3]
        << ": another value is another algorithm and needs a new id";
  }
}

TEST(KeyedPermutation, IsABijectionForEverySmallSize) {
  for (uint64_t size = 1; size <= 300; ++size) ExpectBijection(size, 11, size);
}

TEST(KeyedPermutation, IsABijectionAroundPowersOfTwoAndForPrimes) {
  for (uint64_t size :
       {1023, 1024, 1025, 4095, 4096, 4097, 16383, 16384, 16385, 60000, 65535,
        65536, 65537, 7919, 104729, 1048575, 1048576, 1048577}) {
    ExpectBijection(size, 3, 2);
  }
}

TEST(KeyedPermutation, EpochsAndSeedsGiveDifferentOrders) {
  constexpr uint64_t kSize = 1000;
  KeyedPermutation base(kSize, 5, 0);
  for (KeyedPermutation other :
       {KeyedPermutation(kSize, 5, 1), KeyedPermutation(kSize, 6, 0),
        KeyedPermutation(kSize, 0, 5), KeyedPermutation(kSize, 5, 1u << 20)}) {
    int same = 0;
    for (uint64_t i = 0; i < kSize; ++i) same += base(i) == other(i);
    // Two unrelated orders agree in one place on average.
    EXPECT_LT(same, 10);
  }
}

TEST(KeyedPermutation, FirstElementIsUniformOverEpochs) {
  // 99.99 % quantiles of chi-square with size - 1 degrees of freedom.
  struct {
    uint64_t size;
    double limit;
  } cases[] = {{2, 15.2}, {3, 18.5},  {4, 21.2},
               {7, 27.9}, {10, 33.8}, {61, 110}};
  for (const auto& c : cases) {
    constexpr int kPerValue = 1000;
    std::vector<int> counts(c.size);
    for (uint64_t epoch = 0; epoch < c.size * kPerValue; ++epoch) {
      ++counts[KeyedPermutation(c.size, 17, epoch)(0)];
    }
    EXPECT_LT(ChiSquare(counts, kPerValue), c.limit) << "size " << c.size;
  }
}

TEST(KeyedPermutation, EveryOrderOfFourComesUpEquallyOften) {
  std::vector<int> counts(256);
  constexpr int kOrders = 24, kPerOrder = 500;
  for (uint64_t seed = 0; seed < kOrders * kPerOrder; ++seed) {
    KeyedPermutation order(4, seed, 0);
    ++counts[order(0) + 4 * order(1) + 16 * order(2) + 64 * order(3)];
  }
  std::vector<int> possible;
  for (int count : counts) {
    if (count > 0) possible.push_back(count);
  }
  ASSERT_EQ(possible.size(), kOrders);
  EXPECT_LT(ChiSquare(possible, kPerOrder), 57.1);
}

TEST(KeyedPermutation, NeighboursInTheOrderAreUnrelated) {
  constexpr uint64_t kSize = 60000;
  KeyedPermutation order(kSize, 1, 0);
  std::vector<int> counts(20);
  for (uint64_t i = 0; i + 1 < kSize; ++i) {
    uint64_t distance = (order(i + 1) + kSize - order(i)) % kSize;
    ++counts[distance * counts.size() / kSize];
  }
  EXPECT_LT(ChiSquare(counts, (kSize - 1) / 20.0), 52.4);
}

TEST(KeyedPermutation, SeeksAnywhereInTheLargestSize) {
  KeyedPermutation order(KeyedPermutation::kMaxSize, 1, 4);
  uint64_t far = order(1'000'000'000);
  EXPECT_LT(far, KeyedPermutation::kMaxSize);
  EXPECT_EQ(far,
            KeyedPermutation(KeyedPermutation::kMaxSize, 1, 4)(1'000'000'000));
  EXPECT_LT(order(KeyedPermutation::kMaxSize - 1), KeyedPermutation::kMaxSize);
}

}  // namespace
}  // namespace reprise
