#include "format/random/philox.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "format/random/read_vectors.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

uint32_t Hex32(const std::string& text) {
  return static_cast<uint32_t>(std::stoull(text, nullptr, 16));
}

// Position just after the field "=".
size_t Results(const std::vector<std::string>& row) {
  size_t i = 0;
  while (row.at(i) != "=") ++i;
  return i + 1;
}

TEST(Philox4x32R10, AgreesWithReleasedVectors) {
  std::set<std::string> kinds;
  for (const auto& row : ReadVectors("philox4x32-10")) {
    kinds.insert(row[0]);
    size_t out = Results(row);
    if (row[0] == "block") {
      auto words = Philox4x32Ten(
          {Hex32(row[1]), Hex32(row[2]), Hex32(row[3]), Hex32(row[4])},
          {Hex32(row[5]), Hex32(row[6])});
      for (int i = 0; i < 4; ++i) EXPECT_EQ(words[i], Hex32(row[out + i]));
    } else if (row[0] == "stream") {
      Stream stream(std::stoull(row[1]),
                    static_cast<StreamPurpose>(std::stoull(row[2])),
                    std::stoull(row[3]), std::stoull(row[4]));
      for (; out < row.size(); ++out) {
        EXPECT_EQ(stream.NextU32(), Hex32(row[out]));
      }
    } else if (row[0] == "below") {
      Stream stream(std::stoull(row[1]), StreamPurpose::kAugmentation, 0, 0);
      uint32_t bound = static_cast<uint32_t>(std::stoull(row[2]));
      for (; out < row.size(); ++out) {
        EXPECT_EQ(stream.UniformU32Below(bound), std::stoull(row[out]));
      }
    } else if (row[0] == "double") {
      Stream stream(std::stoull(row[1]), StreamPurpose::kAugmentation, 0, 0);
      for (; out < row.size(); ++out) {
        double value = stream.UniformDouble();
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        EXPECT_EQ(bits, std::stoull(row[out], nullptr, 16));
      }
    } else {
      ADD_FAILURE() << "unknown kind of vector: " << row[0];
    }
  }
  EXPECT_EQ(kinds,
            (std::set<std::string>{"below", "block", "double", "stream"}));
}

TEST(Stream, TakesTheLessSignificantWordOfU64First) {
  Stream words(4, StreamPurpose::kAugmentation, 0, 1);
  Stream doubles(4, StreamPurpose::kAugmentation, 0, 1);
  uint64_t low = words.NextU32();
  uint64_t high = words.NextU32();
  EXPECT_EQ(doubles.NextU64(), low | (high << 32));
}

TEST(Stream, DiffersInEveryKeyComponent) {
  std::set<uint64_t> first;
  for (uint64_t seed : {0, 1}) {
    for (StreamPurpose purpose :
         {StreamPurpose::kAugmentation, StreamPurpose::kSyntheticSample}) {
      for (uint64_t epoch : {0, 1}) {
        for (uint64_t sample : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
          first.insert(Stream(seed, purpose, epoch, sample).NextU64());
        }
      }
    }
  }
  EXPECT_EQ(first.size(), 2u * 2 * 2 * 3);
}

TEST(Stream, UniformU32BelowIsUniformAndInRange) {
  for (uint32_t bound : {1u, 2u, 5u, 10u}) {
    constexpr int kPerValue = 10000;
    std::vector<int> counts(bound);
    Stream stream(8, StreamPurpose::kAugmentation, 0, bound);
    for (uint32_t i = 0; i < bound * kPerValue; ++i) {
      uint32_t value = stream.UniformU32Below(bound);
      ASSERT_LT(value, bound);
      ++counts[value];
    }
    double chi_square = 0;
    for (double count : counts) {
      chi_square += (count - kPerValue) * (count - kPerValue) / kPerValue;
    }
    // 99.99 % quantile with nine degrees of freedom, the most of these.
    EXPECT_LT(chi_square, 33.8) << "bound " << bound;
  }
}

TEST(Stream, UniformDoubleCoversTheHalfOpenUnitInterval) {
  Stream stream(8, StreamPurpose::kAugmentation, 1, 0);
  double sum = 0, least = 1, greatest = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    double value = stream.UniformDouble();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_LT(least, 0.001);
  EXPECT_GT(greatest, 0.999);
}

}  // namespace
}  // namespace reprise
