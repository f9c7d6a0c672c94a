// Limits of format version 1 beside the size of the manifest
// (format/version.h). They bound what a hostile file can make a reader
// allocate.
#ifndef REPRISE_FORMAT_V1_LIMITS_H_
#define REPRISE_FORMAT_V1_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace reprise {

// Submessages, repeated strings and unknown fields of one manifest, together.
constexpr uint64_t kV1MaxElements = uint64_t{1} << 17;
// Elements of one repeated number: extents of one shape.
constexpr uint64_t kV1MaxRank = 32;
// Messages inside messages.
constexpr int kV1MaxDepth = 8;
// Bytes of the name of a tensor, parameter, group or generator.
constexpr size_t kV1MaxNameBytes = 1024;

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_LIMITS_H_
