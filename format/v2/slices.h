// Slices of a tensor and where their elements are in the whole of it.
// Thread-safe.
#ifndef REPRISE_FORMAT_V2_SLICES_H_
#define REPRISE_FORMAT_V2_SLICES_H_

#include <cstdint>
#include <optional>

#include "format/v2/tensor_table.h"

namespace reprise {

// Copies a dense slice to its place in the whole array. Both lie in the entry's
// order. REQUIRES: rank at least 1, the slice inside.
void ScatterSlice(const TableEntry& entry, const Extent& extent,
                  const char* slice, char* whole);

// Offset in bytes of the slice in the whole array when it is one run of bytes
// there: it is whole in every dimension but the outermost. nullopt: it is not.
std::optional<uint64_t> ContiguousOffset(const TableEntry& entry,
                                         const Extent& extent);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_SLICES_H_
