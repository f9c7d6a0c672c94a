// FingerprintOf: which data a run trains on, for data.fingerprint.
//
//   snapshot.fingerprint = reprise::FingerprintOf(train);
//   ...
//   if (auto s = reprise::CheckFingerprint(*snapshot.fingerprint, train);
//       !s.ok()) return s;   // other data
//
// `xxh3-128-samples-v1`, specified in spec/ALGORITHMS.md, is a digest of sizes
// and of every byte of the samples, as they are before augmentation, in the
// order of their ids. Data that are shorter, reordered or relabelled have
// another one; where the files lie does not matter.
#ifndef REPRISE_TRAINER_DATA_FINGERPRINT_H_
#define REPRISE_TRAINER_DATA_FINGERPRINT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "format/snapshot.h"
#include "trainer/data/dataset.h"

namespace reprise {

inline constexpr absl::string_view kFingerprintV1 = "xxh3-128-samples-v1";

// About a second for 8 GB. Thread-safe.
DataFingerprint FingerprintOf(const Dataset& data);

// INVALID_ARGUMENT naming data.fingerprint, what was expected and what was
// found, when `saved` is not that of `data` or of another algorithm.
absl::Status CheckFingerprint(const DataFingerprint& saved,
                              const Dataset& data);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_FINGERPRINT_H_
