// Snapshot to and from the manifest of format version 1.
//
// Example (a test as well):
//
//   absl::StatusOr<std::string> manifest = reprise::EncodeV1(snapshot);
//   if (!manifest.ok()) return manifest.status();
//   absl::StatusOr<reprise::Snapshot> again = reprise::DecodeV1(*manifest);
//
// Both directions check every rule of spec/SPEC.md that binds a version 1
// manifest; nothing is handed out before all of it holds. Equal snapshots give
// equal bytes. Tensor bytes are never interpreted: NaN payloads, -0 and
// denormals come back bit for bit. Thread-safe.
#ifndef REPRISE_FORMAT_V1_CODEC_H_
#define REPRISE_FORMAT_V1_CODEC_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "format/snapshot.h"
#include "format/version.h"

namespace reprise {

// The manifest. Errors: MISSING_ITEM, INVALID_VALUE, LIMIT (sizes are compared
// before tensor bytes are copied). Memory: twice the tensors' bytes for a
// while.
absl::StatusOr<std::string> EncodeV1(const Snapshot& snapshot);

// The snapshot of a manifest of version 1.`minor`, whose digest was checked.
// The tensors share one owner. Errors: CORRUPT, LIMIT, MISSING_ITEM naming item
// and field, INVALID_VALUE. Memory: once the manifest beside the manifest
// itself, which is released as soon as it is parsed.
absl::StatusOr<Snapshot> DecodeV1(std::string manifest,
                                  uint32_t minor = kV1Minor);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_CODEC_H_
