// A copy of a planned save's tensors, so that training may go on while they are
// written.
//
//   StagingMemory memory;               // kept from save to save
//   ... plan a snapshot ...
//   absl::Status status = memory.Stage(threads, &plan);
//   // from here on the plan refers to the copy, and the snapshot may change
//
// Thread-compatible.
#ifndef REPRISE_FORMAT_V2_STAGING_H_
#define REPRISE_FORMAT_V2_STAGING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "format/tensor.h"
#include "format/v2/save.h"

namespace reprise {

class StagingMemory {
 public:
  // Copies every tensor of `plan` that has bytes of its own (tied ones once),
  // with up to `threads` threads, and makes the plan refer to the copies: until
  // the next Stage or Release. Memory: the tensors' bytes, kept for the next
  // time, when it is warm and the copy twice as fast. Errors: LIMIT when there
  // is no memory; what a tensor's copy function returns. Then the plan is of no
  // use.
  absl::Status Stage(int threads, PlannedV2* plan);

  // Gives the memory back.
  void Release();

  uint64_t capacity() const { return capacity_; }  // bytes

 private:
  std::shared_ptr<char> bytes_;
  uint64_t capacity_ = 0;
  std::vector<Tensor> copies_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_STAGING_H_
