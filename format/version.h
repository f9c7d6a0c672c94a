// Versions of the checkpoint format, and the limits that go with them.
//
//   major.minor  since       change                              read by
//   1.0          2026-11-30  first: one manifest, tensors inline  every version
//
// A reader takes every minor of a major that it knows; a newer major is
// TOO_NEW.
#ifndef REPRISE_FORMAT_VERSION_H_
#define REPRISE_FORMAT_VERSION_H_

#include <cstdint>

namespace reprise {

constexpr uint32_t kNewestMajor = 1;
constexpr uint32_t kV1Major = 1;
constexpr uint32_t kV1Minor = 0;

// Largest manifest of major 1, in bytes: what protobuf can hold in one message.
constexpr uint64_t kV1MaxManifestBytes = (uint64_t{1} << 31) - 1;

}  // namespace reprise

#endif  // REPRISE_FORMAT_VERSION_H_
