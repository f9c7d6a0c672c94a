#include "trainer/data/sampler.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/random/keyed_permutation.h"
#include "xxhash.h"

namespace reprise {

absl::StatusOr<Sampler> Sampler::Create(Options options) {
  if (options.dataset_size < 1 ||
      options.dataset_size > KeyedPermutation::kMaxSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampler: expected a data set of 1 to 2^63 samples, found ",
        options.dataset_size));
  }
  if (options.batch_size < 1 || options.batch_size > options.dataset_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampler: expected a batch size of 1 to the data set's ",
        options.dataset_size, " samples, found ", options.batch_size));
  }
  return Sampler(options);
}

uint64_t Sampler::next_batch_size() const {
  if (options_.tail != TailPolicy::kPartial) return options_.batch_size;
  const uint64_t left = options_.dataset_size - cursor_ % options_.dataset_size;
  return std::min(options_.batch_size, left);
}

Batch Sampler::NextBatch() const {
  Batch batch;
  batch.epoch = epoch();
  batch.index = batch_index();
  batch.offset = cursor_ % samples_per_epoch();
  const uint64_t size = next_batch_size();
  batch.in_epoch = std::min(size, samples_per_epoch() - batch.offset);
  batch.sample_ids.reserve(size);
  const KeyedPermutation order(options_.dataset_size, options_.seed,
                               batch.epoch);
  for (uint64_t i = 0; i < batch.in_epoch; ++i) {
    batch.sample_ids.push_back(order(batch.offset + i));
  }
  if (batch.in_epoch == size) return batch;
  const KeyedPermutation next(options_.dataset_size, options_.seed,
                              batch.epoch + 1);
  for (uint64_t i = 0; i < size - batch.in_epoch; ++i) {
    batch.sample_ids.push_back(next(i));
  }
  return batch;
}

absl::Status Sampler::SeekTo(uint64_t cursor) {
  if (options_.tail == TailPolicy::kPartial) {
    const uint64_t offset = cursor % options_.dataset_size;
    if (offset % options_.batch_size != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sampler.cursor: expected whole batches of ", options_.batch_size,
          " since the epoch of ", options_.dataset_size,
          " samples began, found ", cursor, ", which is ", offset,
          " samples into it; was the checkpoint written with another batch "
          "size?"));
    }
  } else if (cursor % options_.batch_size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampler.cursor: expected a multiple of the batch size ",
                     options_.batch_size, ", found ", cursor,
                     "; was the checkpoint written with another batch size?"));
  }
  if (cursor > uint64_t{1} << 63) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampler.cursor: expected at most 2^63, found ", cursor));
  }
  cursor_ = cursor;
  return absl::OkStatus();
}

uint64_t SampleIdDigest(const std::vector<uint64_t>& sample_ids) {
  std::string bytes;
  bytes.reserve(sample_ids.size() * 8);
  for (uint64_t id : sample_ids) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes.push_back(static_cast<char>(id >> shift & 255));
    }
  }
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace reprise
