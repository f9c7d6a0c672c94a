#include "trainer/data/augment.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "format/random/read_vectors.h"
#include "gtest/gtest.h"
#include "trainer/data/synthetic.h"

namespace reprise {
namespace {

float Normalised(int pixel) {
  return static_cast<float>((pixel / 255.0 - kPixelMean) / kPixelStd);
}

// The definition, pixel by pixel.
float ExpectedPixel(const Dataset& data, uint64_t id, const Shift2Flip& change,
                    int64_t channel, int64_t y, int64_t x) {
  int64_t from_y = y - change.dy, from_x = x - change.dx;
  if (from_y < 0 || from_y >= data.height || from_x < 0 ||
      from_x >= data.width) {
    return Normalised(0);
  }
  if (change.mirror) from_x = data.width - 1 - from_x;
  return Normalised(
      data.image(id)[(channel * data.height + from_y) * data.width + from_x]);
}

std::vector<float> Fill(const Dataset& data, const std::vector<uint64_t>& ids,
                        uint64_t epoch, uint64_t seed, Augment augment) {
  std::vector<float> images(ids.size() * data.image_bytes(),
                            std::numeric_limits<float>::quiet_NaN());
  std::vector<int64_t> labels(ids.size(), -1);
  FillBatch(data, ids, epoch, seed, augment, images.data(), labels.data());
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(labels[i], data.labels[ids[i]]);
  }
  return images;
}

TEST(Shift2FlipV1, AgreesWithReleasedVectors) {
  for (const auto& row : ReadVectors("shift2-flip-v1")) {
    Shift2Flip change = DrawShift2Flip(std::stoull(row[0]), std::stoull(row[1]),
                                       std::stoull(row[2]));
    EXPECT_EQ(change.dx, std::stoi(row[3]));
    EXPECT_EQ(change.dy, std::stoi(row[4]));
    EXPECT_EQ(change.mirror, std::stoi(row[5]) == 1);
  }
}

TEST(Shift2Flip, MakesEveryChangeEquallyOften) {
  std::vector<int> counts(50);
  constexpr int kPerChange = 1000;
  for (uint64_t sample = 0; sample < 50 * kPerChange; ++sample) {
    Shift2Flip change = DrawShift2Flip(3, 1, sample);
    ++counts[(change.dx + 2) * 10 + (change.dy + 2) * 2 + change.mirror];
  }
  double chi_square = 0;
  for (double count : counts) {
    chi_square += (count - kPerChange) * (count - kPerChange) / kPerChange;
  }
  EXPECT_LT(chi_square, 94.3);  // 99.99 % quantile, 49 degrees of freedom
}

TEST(FillBatch, FollowsTheDefinitionPixelByPixel) {
  MakeSyntheticOptions options;
  options.size = 64;
  options.height = 7;
  options.width = 5;
  Dataset data = MakeSynthetic(options);
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < 64; ++id) ids.push_back(63 - id);
  std::vector<float> images = Fill(data, ids, 4, 8, Augment::kShift2FlipV1);
  size_t at = 0;
  for (uint64_t id : ids) {
    Shift2Flip change = DrawShift2Flip(8, 4, id);
    for (int64_t y = 0; y < 7; ++y) {
      for (int64_t x = 0; x < 5; ++x) {
        ASSERT_EQ(images[at++], ExpectedPixel(data, id, change, 0, y, x))
            << "sample " << id << " y " << y << " x " << x;
      }
    }
  }
}

TEST(FillBatch, TreatsAllChannelsOfASampleAlike) {
  MakeSyntheticOptions options;
  options.size = 6;
  options.height = 8;
  options.width = 8;
  Dataset data = MakeSynthetic(options);
  data.size = 2;
  data.channels = 3;  // the same bytes, read as two images of three planes
  std::vector<float> images = Fill(data, {1, 0}, 0, 1, Augment::kShift2FlipV1);
  size_t at = 0;
  for (uint64_t id : {1, 0}) {
    Shift2Flip change = DrawShift2Flip(1, 0, id);
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t y = 0; y < 8; ++y) {
        for (int64_t x = 0; x < 8; ++x) {
          ASSERT_EQ(images[at++],
                    ExpectedPixel(data, id, change, channel, y, x));
        }
      }
    }
  }
}

TEST(FillBatch, SurvivesImagesSmallerThanTheShift) {
  MakeSyntheticOptions options;
  options.size = 50;
  options.height = 1;
  options.width = 1;
  Dataset data = MakeSynthetic(options);
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < 50; ++id) ids.push_back(id);
  std::vector<float> images = Fill(data, ids, 0, 1, Augment::kShift2FlipV1);
  for (uint64_t id : ids) {
    EXPECT_EQ(images[id],
              ExpectedPixel(data, id, DrawShift2Flip(1, 0, id), 0, 0, 0));
  }
}

TEST(FillBatch, WithoutAugmentationOnlyNormalises) {
  Dataset data = MakeSynthetic({});
  std::vector<float> images = Fill(data, {5}, 0, 1, Augment::kNone);
  for (int64_t p = 0; p < data.image_bytes(); ++p) {
    ASSERT_EQ(images[p], Normalised(data.image(5)[p]));
  }
  EXPECT_EQ(images, Fill(data, {5}, 9, 2, Augment::kNone));
}

TEST(FillBatch, DependsOnNeitherBatchNorPlaceNorThread) {
  Dataset data = MakeSynthetic({});
  std::vector<uint64_t> ids = {9, 4, 700, 4, 31};
  std::vector<float> together = Fill(data, ids, 2, 6, Augment::kShift2FlipV1);
  std::vector<float> apart(together.size());
  std::vector<int64_t> labels(ids.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ids.size(); ++i) {
    threads.emplace_back([&, i] {
      FillBatch(data, {ids[i]}, 2, 6, Augment::kShift2FlipV1,
                apart.data() + i * data.image_bytes(), labels.data() + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, apart);
}

TEST(FillBatch, EpochAndSeedChangeTheAugmentation) {
  Dataset data = MakeSynthetic({});
  std::vector<uint64_t> ids = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> base = Fill(data, ids, 0, 1, Augment::kShift2FlipV1);
  EXPECT_NE(base, Fill(data, ids, 1, 1, Augment::kShift2FlipV1));
  EXPECT_NE(base, Fill(data, ids, 0, 2, Augment::kShift2FlipV1));
}

}  // namespace
}  // namespace reprise
