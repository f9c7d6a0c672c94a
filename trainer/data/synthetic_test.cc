#include "trainer/data/synthetic.h"

#include <cstdint>
#include <string>
#include <vector>

#include "format/random/read_vectors.h"
#include "gtest/gtest.h"
#include "zlib.h"

namespace reprise {
namespace {

Dataset Make(int64_t size, uint64_t seed, Split split) {
  MakeSyntheticOptions options;
  options.size = size;
  options.seed = seed;
  options.split = split;
  return MakeSynthetic(options);
}

TEST(SyntheticV1, AgreesWithReleasedVectors) {
  for (const auto& row : ReadVectors("synthetic-v1")) {
    Dataset data = Make(std::stoll(row[2]), std::stoull(row[0]),
                        static_cast<Split>(std::stoi(row[1])));
    for (int64_t i = 0; i < data.size; ++i) {
      EXPECT_EQ(data.labels[i], std::stoi(row[4 + i]));
    }
    uint32_t crc = crc32(0, data.images.data(), data.images.size());
    EXPECT_EQ(crc, std::stoull(row.back(), nullptr, 16));
  }
}

TEST(Synthetic, HasTheShapeAskedFor) {
  MakeSyntheticOptions options;
  options.size = 7;
  options.height = 9;
  options.width = 6;
  options.classes = 3;
  Dataset data = MakeSynthetic(options);
  EXPECT_EQ(data.images.size(), 7u * 9 * 6);
  EXPECT_EQ(data.labels.size(), 7u);
  for (uint8_t label : data.labels) EXPECT_LT(label, 3);
  EXPECT_EQ(Make(0, 1, Split::kTrain).images.size(), 0u);
}

TEST(Synthetic, ShorterSetIsAPrefixOfALongerOne) {
  Dataset longer = Make(50, 3, Split::kTrain);
  Dataset shorter = Make(20, 3, Split::kTrain);
  longer.images.resize(shorter.images.size());
  longer.labels.resize(shorter.labels.size());
  EXPECT_EQ(longer.images, shorter.images);
  EXPECT_EQ(longer.labels, shorter.labels);
}

TEST(Synthetic, SplitsAndSeedsDiffer) {
  Dataset train = Make(20, 3, Split::kTrain);
  EXPECT_NE(train.images, Make(20, 3, Split::kTest).images);
  EXPECT_NE(train.images, Make(20, 4, Split::kTrain).images);
}

// The mean training image of each class, and no model at all, tells most test
// images apart: the labels follow from the pixels, and carry over.
TEST(Synthetic, IsLearnable) {
  Dataset train = Make(2000, 5, Split::kTrain);
  Dataset test = Make(500, 5, Split::kTest);
  std::vector<std::vector<double>> mean(10, std::vector<double>(784));
  std::vector<int> count(10);
  for (int64_t i = 0; i < train.size; ++i) {
    ++count[train.labels[i]];
    for (int p = 0; p < 784; ++p) mean[train.labels[i]][p] += train.image(i)[p];
  }
  for (int c = 0; c < 10; ++c) {
    ASSERT_GT(count[c], 100);
    for (double& value : mean[c]) value /= count[c];
  }
  int right = 0;
  for (int64_t i = 0; i < test.size; ++i) {
    int best = 0;
    double best_distance = 1e300;
    for (int c = 0; c < 10; ++c) {
      double distance = 0;
      for (int p = 0; p < 784; ++p) {
        double difference = test.image(i)[p] - mean[c][p];
        distance += difference * difference;
      }
      if (distance < best_distance) best = c, best_distance = distance;
    }
    right += best == test.labels[i];
  }
  EXPECT_GT(right, 300);
}

}  // namespace
}  // namespace reprise
