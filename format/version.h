// Versions of the checkpoint format, and the limits that go with them.
//
//   major.minor  since       change                              read by
//   1.0          2026-11-30  first: one manifest, tensors inline  every version
//   2.0          2026-11-30  all items; tensors in shards         from 2.0 on
//
// A reader takes every minor of a major that it knows; a newer major is
// TOO_NEW.
//
// Example (a test as well):
//
//   if (envelope.major > reprise::kNewestMajor) return TooNew(envelope);
//   if (envelope.manifest_length >
//       reprise::MaxManifestBytes(envelope.major)) {
//     return TooLong(envelope);
//   }
#ifndef REPRISE_FORMAT_VERSION_H_
#define REPRISE_FORMAT_VERSION_H_

#include <cstdint>

namespace reprise {

constexpr uint32_t kNewestMajor = 2;
constexpr uint32_t kV1Major = 1;
constexpr uint32_t kV1Minor = 0;

// Largest manifest of major 1, in bytes: what protobuf can hold in one message.
constexpr uint64_t kV1MaxManifestBytes = (uint64_t{1} << 31) - 1;

constexpr uint32_t kV2Major = 2;
constexpr uint32_t kV2Minor = 0;

// Largest manifest of major 2, in bytes: no tensor is in it.
constexpr uint64_t kV2MaxManifestBytes = uint64_t{1} << 28;

// REQUIRES: 1 <= major <= kNewestMajor.
constexpr uint64_t MaxManifestBytes(uint32_t major) {
  return major == kV1Major ? kV1MaxManifestBytes : kV2MaxManifestBytes;
}

}  // namespace reprise

#endif  // REPRISE_FORMAT_VERSION_H_
