// Finds tensors that share some of their bytes without being the same tensor.
#ifndef REPRISE_FORMAT_V2_STORAGE_OVERLAP_H_
#define REPRISE_FORMAT_V2_STORAGE_OVERLAP_H_

#include <vector>

#include "absl/status/status.h"
#include "format/v2/tensor_list.h"

namespace reprise {

// Two tensors of which one is an alias of the other are fine, and so are two of
// different items that are the same view; views of one storage that share no
// element (columns of one matrix) are fine too. Anything else is INVALID_VALUE,
// naming both: once it is restored as two arrays, a write to one would no
// longer show in the other. So is a tensor two of whose elements share bytes.
// Memory: a bit for each element's bytes where ranges of views with gaps meet.
absl::Status CheckNoPartialOverlap(const std::vector<ListedTensor>& tensors,
                                   const std::vector<TableEntry>& entries);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_STORAGE_OVERLAP_H_
