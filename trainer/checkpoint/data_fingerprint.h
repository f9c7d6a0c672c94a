// Which data a run trains on (data.fingerprint).
#ifndef REPRISE_TRAINER_CHECKPOINT_DATA_FINGERPRINT_H_
#define REPRISE_TRAINER_CHECKPOINT_DATA_FINGERPRINT_H_

#include "absl/strings/string_view.h"
#include "format/snapshot.h"
#include "trainer/data/dataset.h"

namespace reprise {

// XXH3-128 (canonical bytes) over the name's length and bytes, then size,
// channels, height, width and classes, each a little-endian u64, then all
// pixels and all labels in order. So a sample more, another order or one other
// pixel is other data, and where the files lie is not. A file of 47 MB takes
// some ten milliseconds.
inline constexpr absl::string_view kFingerprintV1 = "xxh3-128-samples-v1";

// Thread-safe.
DataFingerprint FingerprintOf(const Dataset& data);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_DATA_FINGERPRINT_H_
