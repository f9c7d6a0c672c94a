#include "format/v2/staging.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v2/parallel.h"

namespace reprise {
namespace {

// Of one copy by one thread; a multiple of every element's size.
constexpr uint64_t kPieceBytes = uint64_t{1} << 22;
// Where the system has pages of this size, first use is many times cheaper.
constexpr uint64_t kHugePageBytes = uint64_t{1} << 21;

struct Part {
  size_t tensor = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};

uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::shared_ptr<char> Allocate(uint64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kHugePageBytes, bytes) != 0) return nullptr;
  // Advice: without it everything works.
  madvise(memory, bytes, MADV_HUGEPAGE);
  return std::shared_ptr<char>(static_cast<char*>(memory), free);
}

}  // namespace

absl::Status StagingMemory::Stage(int threads, PlannedV2* plan) {
  copies_.clear();
  std::vector<Part> parts;
  std::vector<uint64_t> places(plan->tensors.size());
  uint64_t total = 0;
  for (size_t i = 0; i < plan->tensors.size(); ++i) {
    const TableEntry& entry = plan->draft.tensors[i];
    if (entry.extents.empty()) continue;
    const uint64_t bytes = entry.num_bytes();
    places[i] = total;
    total += RoundUp(bytes, kExtentAlignment);
    for (uint64_t at = 0; at < bytes; at += kPieceBytes) {
      parts.push_back({i, at, std::min(kPieceBytes, bytes - at)});
    }
  }
  if (total > capacity_) {
    Release();
    bytes_ = Allocate(RoundUp(total, kHugePageBytes));
    if (bytes_ == nullptr) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("no memory for a copy of ", total,
                                      " bytes of tensors; save in the "
                                      "foreground, or hand them over"));
    }
    capacity_ = RoundUp(total, kHugePageBytes);
  }
  absl::Status status = ParallelFor(threads, parts.size(), [&](size_t p) {
    const Part& part = parts[p];
    absl::Status copied = plan->tensors[part.tensor].tensor->CopyBytes(
        part.offset, part.length,
        bytes_.get() + places[part.tensor] + part.offset);
    return copied.ok()
               ? copied
               : Annotate(copied, plan->draft.tensors[part.tensor].Describe());
  });
  if (!status.ok()) return status;
  // Pointers into it must hold.
  copies_.reserve(plan->tensors.size());
  for (size_t i = 0; i < plan->tensors.size(); ++i) {
    const TableEntry& entry = plan->draft.tensors[i];
    const std::vector<int64_t> shape(entry.shape.begin(), entry.shape.end());
    const char* data =
        entry.extents.empty() ? nullptr : &bytes_.get()[places[i]];
    copies_.push_back(Tensor::Strided(entry.name, entry.dtype, shape,
                                      DenseStrides(shape, entry.order), nullptr,
                                      data));
    plan->tensors[i].tensor = &copies_.back();
  }
  return absl::OkStatus();
}

void StagingMemory::Release() {
  copies_.clear();
  bytes_ = nullptr;
  capacity_ = 0;
}

}  // namespace reprise
