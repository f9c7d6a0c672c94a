#include "format/v2/slices.h"

#include <cstring>
#include <vector>

namespace reprise {

void ScatterSlice(const TableEntry& entry, const Extent& extent,
                  const char* slice, char* whole) {
  const size_t rank = entry.shape.size();
  // Extents in memory order, outermost first.
  std::vector<uint64_t> whole_shape, slice_shape, start;
  for (uint32_t dimension : entry.order) {
    whole_shape.push_back(entry.shape[dimension]);
    slice_shape.push_back(extent.slice_shape[dimension]);
    start.push_back(extent.slice_start[dimension]);
  }
  const uint64_t element = SizeOf(entry.dtype);
  const uint64_t row = slice_shape[rank - 1] * element;
  std::vector<uint64_t> index(rank, 0);
  for (uint64_t done = 0; done < extent.length; done += row) {
    uint64_t position = 0;
    for (size_t d = 0; d < rank; ++d) {
      position = position * whole_shape[d] + start[d] + index[d];
    }
    std::memcpy(whole + position * element, slice + done, row);
    for (size_t d = rank - 1; d-- > 0;) {
      if (++index[d] < slice_shape[d]) break;
      index[d] = 0;
    }
  }
}

std::optional<uint64_t> ContiguousOffset(const TableEntry& entry,
                                         const Extent& extent) {
  if (extent.slice_shape.empty()) return 0;
  uint64_t row = SizeOf(entry.dtype);
  for (size_t i = 1; i < entry.order.size(); ++i) {
    const uint32_t dimension = entry.order[i];
    if (extent.slice_shape[dimension] != entry.shape[dimension]) {
      return std::nullopt;
    }
    row *= entry.shape[dimension];
  }
  return row * extent.slice_start[entry.order[0]];
}

}  // namespace reprise
