// Sampler: which samples the next step trains on.
//
//   absl::StatusOr<reprise::Sampler> sampler = reprise::Sampler::Create(
//       {/*dataset_size=*/60000, /*batch_size=*/128, /*seed=*/1});
//   if (!sampler.ok()) return sampler.status();
//   reprise::Batch batch = sampler->NextBatch();   // looks, does not move
//   ... train on batch.sample_ids ...
//   sampler->Advance();                            // the step is done
//
// The only state is `cursor`, the number of samples trained since the start of
// the run. Everything else is derived: the samples of an epoch come in the
// order of KeyedPermutation(dataset_size, seed, epoch). What happens to those
// that fill no batch at its end is the tail policy; 103 samples, batches of 10:
//
//   kDrop     10 batches of 10; 3 samples are not trained in this epoch
//   kPartial  10 batches of 10 and one of 3
//   kSpan     10 batches of 10 and one of these 3 and the next epoch's first 7
//
// After the last sample of epoch e the position is (e + 1, 0), never (e, end).
//
// A sampler restored by SeekTo is the same as one that trained up to there, at
// whatever cursor, at no cost.
#ifndef REPRISE_TRAINER_DATA_SAMPLER_H_
#define REPRISE_TRAINER_DATA_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reprise {

// The numbers are those of the checkpoint format (SamplerState::Tail).
enum class TailPolicy { kDrop = 1, kPartial = 2, kSpan = 3 };

struct Batch {
  uint64_t epoch = 0;                // of its first sample
  uint64_t index = 0;                // of the batch in its epoch
  uint64_t offset = 0;               // of its first sample in the epoch's order
  std::vector<uint64_t> sample_ids;  // indices into the data set
  // So many of sample_ids belong to `epoch`, the others to the next one: all
  // of them unless the policy is kSpan.
  uint64_t in_epoch = 0;
};

// Copyable; not thread-safe.
class Sampler {
 public:
  struct Options {
    uint64_t dataset_size = 0;  // 1 to 2^63
    uint64_t batch_size = 0;    // 1 to dataset_size
    uint64_t seed = 0;
    TailPolicy tail = TailPolicy::kDrop;
  };

  // At cursor 0. INVALID_ARGUMENT when a size is out of range.
  static absl::StatusOr<Sampler> Create(Options options);

  // The batch of the next step; the same until Advance or SeekTo.
  Batch NextBatch() const;
  // Its number of samples: batch_size, or fewer at the end of an epoch with
  // kPartial.
  uint64_t next_batch_size() const;
  // The batch has trained: moves the cursor by its samples.
  void Advance() { cursor_ += next_batch_size(); }

  // Samples trained since the start of the run, all epochs together.
  uint64_t cursor() const { return cursor_; }
  // INVALID_ARGUMENT unless whole batches come to `cursor`, or above 2^63.
  absl::Status SeekTo(uint64_t cursor);

  uint64_t epoch() const { return cursor_ / samples_per_epoch(); }
  uint64_t batch_index() const {
    return cursor_ % samples_per_epoch() / options_.batch_size;
  }
  // Batches that begin in an epoch; with kSpan one fewer in some.
  uint64_t batches_per_epoch() const {
    return options_.dataset_size / options_.batch_size +
           (options_.tail != TailPolicy::kDrop &&
            options_.dataset_size % options_.batch_size != 0);
  }
  // Samples trained in an epoch: dataset_size less the dropped tail.
  uint64_t samples_per_epoch() const {
    return options_.tail == TailPolicy::kDrop
               ? options_.dataset_size -
                     options_.dataset_size % options_.batch_size
               : options_.dataset_size;
  }
  const Options& options() const { return options_; }

 private:
  explicit Sampler(Options options) : options_(options) {}

  Options options_;
  uint64_t cursor_ = 0;
};

// XXH3-64 (seed 0) of the ids as little-endian u64, in order. Written as 16
// hexadecimal digits, most significant first, wherever it is text.
uint64_t SampleIdDigest(const std::vector<uint64_t>& sample_ids);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_SAMPLER_H_
