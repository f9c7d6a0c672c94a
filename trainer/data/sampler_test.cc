#include "trainer/data/sampler.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "format/random/keyed_permutation.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

Sampler Make(uint64_t dataset_size, uint64_t batch_size, uint64_t seed = 1) {
  return Sampler::Create({dataset_size, batch_size, seed}).value();
}

TEST(Sampler, C11_EachIdComesOncePerEpoch) {
  Sampler sampler = Make(1000, 10);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<bool> seen(1000);
    for (uint64_t index = 0; index < 100; ++index) {
      Batch batch = sampler.NextBatch();
      ASSERT_EQ(batch.epoch, epoch);
      ASSERT_EQ(batch.index, index);
      ASSERT_EQ(batch.offset, 10 * index);
      ASSERT_EQ(batch.sample_ids.size(), 10u);
      for (uint64_t id : batch.sample_ids) {
        ASSERT_LT(id, 1000u);
        ASSERT_FALSE(seen[id]) << "epoch " << epoch << " repeats " << id;
        seen[id] = true;
      }
      sampler.Advance();
    }
  }
  EXPECT_EQ(sampler.cursor(), 3000u);
}

TEST(Sampler, C11_EpochsEndIsTheNextEpochsStart) {
  Sampler sampler = Make(1000, 10);
  ASSERT_TRUE(sampler.SeekTo(990).ok());
  EXPECT_EQ(sampler.epoch(), 0u);
  EXPECT_EQ(sampler.batch_index(), 99u);
  sampler.Advance();
  EXPECT_EQ(sampler.cursor(), 1000u);
  EXPECT_EQ(sampler.epoch(), 1u);
  EXPECT_EQ(sampler.batch_index(), 0u);
  EXPECT_EQ(sampler.NextBatch().epoch, 1u);
  EXPECT_EQ(sampler.NextBatch().offset, 0u);
}

// Rules: DATA-3
TEST(Sampler, C12_LaterEpochsFollowThePermutationOfTheirEpoch) {
  Sampler sampler = Make(1000, 10, 42);
  for (uint64_t step : {0u, 150u, 250u, 299u}) {
    ASSERT_TRUE(sampler.SeekTo(10 * step).ok());
    uint64_t epoch = step / 100;
    KeyedPermutation order(1000, 42, epoch);
    Batch batch = sampler.NextBatch();
    EXPECT_EQ(batch.epoch, epoch);
    for (uint64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(batch.sample_ids[i], order(step % 100 * 10 + i));
    }
  }
}

TEST(Sampler, C11_SoughtAnywhereEqualsTrainedUpToThere) {
  Sampler trained = Make(103, 10, 9);
  for (int step = 0; step < 45; ++step) {
    Sampler sought = Make(103, 10, 9);
    ASSERT_TRUE(sought.SeekTo(trained.cursor()).ok());
    for (int next = 0; next < 12; ++next) {
      Sampler ahead = trained;
      for (int i = 0; i < next; ++i) ahead.Advance();
      EXPECT_EQ(sought.NextBatch().sample_ids, ahead.NextBatch().sample_ids);
      sought.Advance();
    }
    trained.Advance();
  }
}

// Rules: DATA-1
TEST(Sampler, DropsTheTailThatFillsNoBatch) {
  Sampler sampler = Make(1003, 10);
  EXPECT_EQ(sampler.batches_per_epoch(), 100u);
  EXPECT_EQ(sampler.samples_per_epoch(), 1000u);
  std::vector<uint64_t> ids;
  while (sampler.epoch() == 0) {
    Batch batch = sampler.NextBatch();
    ids.insert(ids.end(), batch.sample_ids.begin(), batch.sample_ids.end());
    sampler.Advance();
  }
  EXPECT_EQ(ids.size(), 1000u);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  EXPECT_LT(ids.back(), 1003u);
  // The next epoch starts at its own order's start: nothing is carried over.
  KeyedPermutation order(1003, 1, 1);
  EXPECT_EQ(sampler.cursor(), 1000u);
  EXPECT_EQ(sampler.NextBatch().sample_ids[0], order(0));
}

Sampler MakeTail(TailPolicy tail, uint64_t dataset_size, uint64_t batch_size) {
  return Sampler::Create({dataset_size, batch_size, 9, tail}).value();
}

TEST(Sampler, PartialTrainsTheTailAsASmallerBatch) {
  Sampler sampler = MakeTail(TailPolicy::kPartial, 103, 10);
  EXPECT_EQ(sampler.batches_per_epoch(), 11u);
  EXPECT_EQ(sampler.samples_per_epoch(), 103u);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<bool> seen(103);
    for (uint64_t index = 0; index < 11; ++index) {
      const Batch batch = sampler.NextBatch();
      ASSERT_EQ(batch.epoch, epoch);
      ASSERT_EQ(batch.index, index);
      ASSERT_EQ(batch.sample_ids.size(), index == 10 ? 3u : 10u);
      ASSERT_EQ(batch.in_epoch, batch.sample_ids.size());
      for (uint64_t id : batch.sample_ids) {
        ASSERT_FALSE(seen[id]);
        seen[id] = true;
      }
      sampler.Advance();
    }
    EXPECT_EQ(sampler.cursor(), 103 * (epoch + 1));
  }
}

TEST(Sampler, SpanGoesOnIntoTheNextEpochWithoutALossOrARepeat) {
  Sampler sampler = MakeTail(TailPolicy::kSpan, 103, 10);
  std::vector<uint64_t> trained;
  while (trained.size() < 5 * 103) {
    const Batch batch = sampler.NextBatch();
    ASSERT_EQ(batch.sample_ids.size(), 10u);
    ASSERT_EQ(batch.epoch, trained.size() / 103);
    ASSERT_EQ(batch.offset, trained.size() % 103);
    ASSERT_EQ(batch.in_epoch, std::min<uint64_t>(10, 103 - batch.offset));
    trained.insert(trained.end(), batch.sample_ids.begin(),
                   batch.sample_ids.end());
    sampler.Advance();
    ASSERT_EQ(sampler.cursor(), trained.size());
  }
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    KeyedPermutation order(103, 9, epoch);
    for (uint64_t i = 0; i < 103; ++i) {
      EXPECT_EQ(trained[103 * epoch + i], order(i)) << epoch << " " << i;
    }
  }
}

TEST(Sampler, EveryTailSoughtAnywhereEqualsTrainedUpToThere) {
  for (TailPolicy tail :
       {TailPolicy::kDrop, TailPolicy::kPartial, TailPolicy::kSpan}) {
    for (uint64_t size : {20u, 23u, 10u, 19u}) {
      Sampler trained = MakeTail(tail, size, 10);
      for (int step = 0; step < 12; ++step) {
        Sampler sought = MakeTail(tail, size, 10);
        const absl::Status status = sought.SeekTo(trained.cursor());
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(sought.epoch(), trained.epoch());
        EXPECT_EQ(sought.NextBatch().sample_ids,
                  trained.NextBatch().sample_ids);
        trained.Advance();
      }
    }
  }
}

// Rules: DATA-4
TEST(Sampler, EveryTailRefusesACursorBetweenItsBatches) {
  Sampler partial = MakeTail(TailPolicy::kPartial, 103, 10);
  EXPECT_TRUE(partial.SeekTo(103 + 20).ok());
  const absl::Status status = partial.SeekTo(103 + 25);
  EXPECT_EQ(status.message(),
            "sampler.cursor: expected whole batches of 10 since the epoch of "
            "103 samples began, found 128, which is 25 samples into it; was "
            "the checkpoint written with another batch size?");
  EXPECT_EQ(partial.cursor(), 123u);
  EXPECT_FALSE(partial.SeekTo(110).ok());  // of the policy kSpan
  Sampler span = MakeTail(TailPolicy::kSpan, 103, 10);
  EXPECT_TRUE(span.SeekTo(110).ok());
  EXPECT_FALSE(span.SeekTo(103).ok());  // of the policy kPartial
  EXPECT_EQ(span.cursor(), 110u);
}

TEST(Sampler, LookingDoesNotMove) {
  Sampler sampler = Make(100, 7);
  EXPECT_EQ(sampler.NextBatch().sample_ids, sampler.NextBatch().sample_ids);
  EXPECT_EQ(sampler.cursor(), 0u);
}

TEST(Sampler, SeeksFarIntoAHugeDataSet) {
  Sampler sampler = Make(uint64_t{1} << 40, 100);
  ASSERT_TRUE(sampler.SeekTo(1'000'000'000).ok());
  EXPECT_EQ(sampler.NextBatch().offset, 1'000'000'000u);
  EXPECT_EQ(sampler.NextBatch().sample_ids[0],
            KeyedPermutation(uint64_t{1} << 40, 1, 0)(1'000'000'000));
}

TEST(Sampler, BatchOfTheWholeDataSetIsAnEpoch) {
  Sampler sampler = Make(7, 7);
  sampler.Advance();
  EXPECT_EQ(sampler.epoch(), 1u);
  EXPECT_EQ(sampler.batch_index(), 0u);
}

TEST(Sampler, RefusesSizesOutOfRange) {
  for (Sampler::Options options :
       {Sampler::Options{0, 1, 0}, Sampler::Options{10, 0, 0},
        Sampler::Options{10, 11, 0},
        Sampler::Options{(uint64_t{1} << 63) + 1, 1, 0}}) {
    EXPECT_EQ(Sampler::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument)
        << options.dataset_size << " " << options.batch_size;
  }
}

// Rules: DATA-1
TEST(Sampler, RefusesACursorBetweenBatchesAndKeepsItsOwn) {
  Sampler sampler = Make(100, 10);
  ASSERT_TRUE(sampler.SeekTo(570).ok());
  absl::Status status = sampler.SeekTo(575);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "sampler.cursor: expected a multiple of the batch size 10, found "
            "575; was the checkpoint written with another batch size?");
  EXPECT_FALSE(sampler.SeekTo(~uint64_t{0} - 5).ok());
  EXPECT_EQ(sampler.cursor(), 570u);
}

TEST(SampleIdDigest, IsXxh3OfLittleEndianIds) {
  // Of no bytes, as published with XXH3.
  EXPECT_EQ(SampleIdDigest({}), 0x2D06800538D394C2u);
  EXPECT_NE(SampleIdDigest({1, 2}), SampleIdDigest({2, 1}));
  // Computed with xxHash's Python binding over struct.pack("<Q", id).
  EXPECT_EQ(SampleIdDigest({1}), 0x2FBC593564DB792Eu);
  EXPECT_EQ(SampleIdDigest({1, 59999}), 0xEF80D853B456C79Au);
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < 128; ++id) ids.push_back(id);
  EXPECT_EQ(SampleIdDigest(ids), 0xCAE42271E3465A49u);
}

}  // namespace
}  // namespace reprise
