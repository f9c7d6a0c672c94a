#include "trainer/data/sampler.h"

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

Batch Sampler::NextBatch() const {
  Batch batch;
  batch.epoch = epoch();
  batch.index = batch_index();
  batch.offset = cursor_ % samples_per_epoch();
  KeyedPermutation order(options_.dataset_size, options_.seed, batch.epoch);
  batch.sample_ids.reserve(options_.batch_size);
  for (uint64_t i = 0; i < options_.batch_size; ++i) {
    batch.sample_ids.push_back(order(batch.offset + i));
  }
  return batch;
}

absl::Status Sampler::SeekTo(uint64_t cursor) {
  if (cursor % options_.batch_size != 0) {
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
