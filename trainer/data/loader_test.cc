#include "trainer/data/loader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/data/synthetic.h"

namespace reprise {
namespace {

Dataset Images(int64_t size) {
  MakeSyntheticOptions options;
  options.size = size;
  options.height = options.width = 8;
  return MakeSynthetic(options);
}

Dataset Text() {
  Dataset text;
  text.name = "text";
  text.size = 23;
  text.sequence_length = 5;
  text.classes = 256;
  for (int i = 0; i < 23 * 5 + 1; ++i) text.text.push_back(i * 37 % 256);
  return text;
}

Sampler Order(uint64_t size, TailPolicy tail) {
  return Sampler::Create({size, 7, 3, tail}).value();
}

bool SameBytes(const HostBatch& a, const HostBatch& b) {
  return a.order.sample_ids == b.order.sample_ids &&
         a.order.epoch == b.order.epoch && a.tokens == b.tokens &&
         a.labels == b.labels && a.images.size() == b.images.size() &&
         std::memcmp(a.images.data(), b.images.data(),
                     a.images.size() * sizeof(float)) == 0;
}

// The batches of `steps` steps, prepared by nobody else.
std::vector<HostBatch> Expected(const Dataset& data, Sampler order,
                                Augment augment, int steps) {
  std::vector<HostBatch> batches(steps);
  for (HostBatch& batch : batches) {
    FillHostBatch(data, order.NextBatch(), 3, augment, &batch);
    order.Advance();
  }
  return batches;
}

TEST(DataLoader, WorkersAndPrefetchChangeNoBitOfAnyBatch) {
  const Dataset images = Images(23), text = Text();
  for (const Dataset* data : {&images, &text}) {
    const Augment augment =
        data->is_text() ? Augment::kNone : Augment::kShift2FlipV1;
    for (TailPolicy tail :
         {TailPolicy::kDrop, TailPolicy::kPartial, TailPolicy::kSpan}) {
      const auto expected = Expected(*data, Order(23, tail), augment, 40);
      for (int workers : {0, 1, 2, 5}) {
        for (int prefetch : {1, 2, 9}) {
          Sampler order = Order(23, tail);
          DataLoader loader(data, order, {workers, prefetch, 3, augment});
          for (const HostBatch& batch : expected) {
            ASSERT_TRUE(SameBytes(*loader.Get(order), batch))
                << data->name << " tail " << static_cast<int>(tail) << ", "
                << workers << " workers, prefetch " << prefetch << ", cursor "
                << order.cursor();
            order.Advance();
          }
        }
      }
    }
  }
}

TEST(DataLoader, PositionIsWhatWasTrainedHoweverMuchWasDrawnAhead) {
  const Dataset data = Images(70);
  Sampler order = Order(70, TailPolicy::kDrop);
  DataLoader loader(&data, order, {2, 8, 3, Augment::kNone});
  const std::shared_ptr<const HostBatch> first = loader.Get(order);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(order.cursor(), 0u);
  // Looking again gives the same batch; only Advance moves.
  EXPECT_EQ(loader.Get(order), first);
  order.Advance();
  EXPECT_EQ(order.cursor(), 7u);
  EXPECT_NE(loader.Get(order)->order.sample_ids, first->order.sample_ids);
}

TEST(DataLoader, C11_ASamplerThatWasMovedIsFollowed) {
  uint64_t seed = std::random_device()();
  if (const char* given = std::getenv("REPRISE_SEED")) {
    seed = std::strtoull(given, nullptr, 10);
  }
  std::printf(
      "seed %llu; again: bazel test //trainer/data:loader_test "
      "--test_env=REPRISE_SEED=%llu\n",
      static_cast<unsigned long long>(seed),
      static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const Dataset data = Images(50);
  const auto expected =
      Expected(data, Order(50, TailPolicy::kSpan), Augment::kShift2FlipV1, 100);
  for (int workers : {0, 1, 3}) {
    Sampler order = Order(50, TailPolicy::kSpan);
    DataLoader loader(&data, order, {workers, 3, 3, Augment::kShift2FlipV1});
    for (int i = 0; i < 200; ++i) {
      // Now and then elsewhere, as after a restore; else one step on.
      uint64_t step = order.cursor() / 7;
      if (random() % 4 == 0) {
        step = random() % 99;
        ASSERT_TRUE(order.SeekTo(7 * step).ok());
      }
      ASSERT_TRUE(SameBytes(*loader.Get(order), expected[step])) << step;
      if (step + 1 < 100) order.Advance();
    }
  }
}

TEST(DataLoader, ABatchThatIsHeldIsNotOverwritten) {
  const Dataset data = Images(70);
  const auto expected =
      Expected(data, Order(70, TailPolicy::kDrop), Augment::kNone, 10);
  for (int workers : {0, 2}) {
    Sampler order = Order(70, TailPolicy::kDrop);
    DataLoader loader(&data, order, {workers, 4, 3, Augment::kNone});
    std::vector<std::shared_ptr<const HostBatch>> held;
    for (int i = 0; i < 10; ++i, order.Advance()) {
      held.push_back(loader.Get(order));
    }
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(SameBytes(*held[i], expected[i])) << i;
    }
  }
}

TEST(DataLoader, EndsWhileBatchesAreBeingPrepared) {
  const Dataset data = Images(70);
  for (int i = 0; i < 50; ++i) {
    Sampler order = Order(70, TailPolicy::kDrop);
    DataLoader loader(&data, order, {4, 8, 3, Augment::kShift2FlipV1});
    if (i % 2 == 0) loader.Get(order);
  }
}

TEST(FillHostBatch, SpanningBatchIsAugmentedByBothEpochs) {
  const Dataset data = Images(10);
  Sampler order = Order(10, TailPolicy::kSpan);
  order.Advance();
  const Batch batch = order.NextBatch();
  ASSERT_EQ(batch.in_epoch, 3u);
  HostBatch filled;
  FillHostBatch(data, batch, 3, Augment::kShift2FlipV1, &filled);
  for (size_t i = 0; i < 7; ++i) {
    std::vector<float> image(64);
    int64_t label;
    FillBatch(data, {batch.sample_ids[i]}, i < 3 ? 0 : 1, 3,
              Augment::kShift2FlipV1, image.data(), &label);
    EXPECT_TRUE(
        std::equal(image.begin(), image.end(), filled.images.begin() + 64 * i))
        << i;
    EXPECT_EQ(filled.labels[i], label);
  }
}

TEST(FillHostBatch, TextsLabelsAreItsTokensOneOn) {
  const Dataset data = Text();
  HostBatch filled;
  FillHostBatch(data, Order(23, TailPolicy::kDrop).NextBatch(), 3,
                Augment::kNone, &filled);
  ASSERT_EQ(filled.tokens.size(), 7u * 5);
  ASSERT_EQ(filled.labels.size(), 7u * 5);
  EXPECT_TRUE(filled.images.empty());
  for (size_t i = 0; i < filled.tokens.size(); ++i) {
    if (i % 5 != 4) {
      EXPECT_EQ(filled.labels[i], filled.tokens[i + 1]);
    }
    EXPECT_EQ((filled.tokens[i] + 37) % 256, filled.labels[i]);
  }
}

}  // namespace
}  // namespace reprise
