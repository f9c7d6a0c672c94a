// Limits of format version 2 beside the size of the manifest
// (format/version.h). They bound what a hostile file can make a reader
// allocate: at most 64 MiB by claims, and 40 times its own bytes.
#ifndef REPRISE_FORMAT_V2_LIMITS_H_
#define REPRISE_FORMAT_V2_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace reprise {

// Submessages, repeated strings and unknown fields of one manifest, together.
constexpr uint64_t kV2MaxElements = uint64_t{1} << 17;
// Numbers in columns and other repeated numbers, together.
constexpr uint64_t kV2MaxNumbers = uint64_t{1} << 25;
// Messages inside messages.
constexpr int kV2MaxDepth = 8;
constexpr uint64_t kV2MaxTensors = uint64_t{1} << 20;
constexpr uint64_t kV2MaxExtents = uint64_t{1} << 20;
constexpr uint64_t kV2MaxExtentsOfATensor = 1024;
constexpr uint64_t kV2MaxShards = uint64_t{1} << 16;
constexpr uint64_t kV2MaxRank = 32;
// Bytes of the name of a tensor, parameter, group or generator.
constexpr size_t kV2MaxNameBytes = 1024;

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_LIMITS_H_
