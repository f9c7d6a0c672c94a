// The rules that a snapshot must keep to be a version 1 checkpoint.
#ifndef REPRISE_FORMAT_V1_VALIDATE_H_
#define REPRISE_FORMAT_V1_VALIDATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/snapshot.h"

namespace reprise {

// Whether the record of `item` says SAVED.
bool IsSaved(const Snapshot& snapshot, Item item);

// Bytes of a tensor of that shape. Errors: INVALID_VALUE (negative extent,
// unknown dtype), LIMIT (rank, or a product beyond 2^63 - 1).
absl::StatusOr<uint64_t> CheckedTensorBytes(const Tensor& tensor);

// Samples of one epoch that are trained: whole batches only (DROP).
// REQUIRES: 0 < batch_size <= dataset_size.
inline uint64_t SamplesPerEpoch(const SamplerState& sampler) {
  return sampler.dataset_size / sampler.batch_size * sampler.batch_size;
}

// The inventory's own rules: each item of version 1 recorded once, with a
// presence that it can have. Later checks rely on them.
absl::Status ValidateInventoryForV1(const Snapshot& snapshot);

// Every rule of spec/SPEC.md for the values of a version 1 checkpoint. Reads no
// tensor bytes. Errors: MISSING_ITEM, INVALID_VALUE, LIMIT, naming the item.
absl::Status ValidateForV1(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_VALIDATE_H_
