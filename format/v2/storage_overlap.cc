#include "format/v2/storage_overlap.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"

namespace reprise {
namespace {

// The bytes [begin, end) that a tensor's elements lie in.
struct Range {
  bool named_storage = false;  // which space of addresses
  uint64_t storage = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  size_t index = 0;
};

bool SameView(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.DimensionOrder() == b.DimensionOrder() &&
         a.IsDense() == b.IsDense() &&
         (a.IsDense() || a.strides() == b.strides());
}

// Calls `visit` with the offset in bytes of every element from the first one.
// Stops when it returns false.
bool ForEachElement(const Tensor& tensor,
                    const std::function<bool(uint64_t)>& visit) {
  const std::vector<int64_t>& shape = tensor.shape();
  std::vector<int64_t> strides = tensor.strides();
  if (strides.empty()) {
    strides.resize(shape.size());
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      strides[d] = stride;
      stride *= shape[d];
    }
  }
  std::vector<int64_t> index(shape.size(), 0);
  int64_t position = 0;
  const int64_t element = static_cast<int64_t>(SizeOf(tensor.dtype()));
  for (;;) {
    if (!visit(static_cast<uint64_t>(position * element))) return false;
    size_t d = shape.size();
    while (d > 0) {
      --d;
      position += strides[d];
      if (++index[d] < shape[d]) break;
      position -= strides[d] * shape[d];
      index[d] = 0;
      if (d == 0) return true;
    }
    if (shape.empty()) return true;
  }
}

absl::Status Overlap(const TableEntry& a, const TableEntry& b) {
  return MakeRefusal(
      Refusal::INVALID_VALUE,
      absl::StrCat(a.Describe(), " and ", b.Describe(),
                   " share some of their bytes without being the same tensor; "
                   "such a state cannot be restored: copy one of them"));
}

// Marks every element of tensors whose ranges meet; two marks on one place are
// an overlap.
absl::Status MarkElements(const std::vector<Range>& cluster,
                          const std::vector<ListedTensor>& tensors,
                          const std::vector<TableEntry>& entries) {
  uint64_t begin = cluster[0].begin;
  uint64_t end = 0;
  uint64_t unit = 16;  // common divisor of sizes and distances
  for (const Range& range : cluster) {
    end = std::max(end, range.end);
    unit = std::gcd(unit, SizeOf(tensors[range.index].tensor->dtype()));
    unit = std::gcd(unit, range.begin - begin);
  }
  std::vector<bool> marked((end - begin) / unit + 1, false);
  // Calls `visit` with each place of tensor i of the cluster.
  auto for_each_place = [&](size_t i,
                            const std::function<bool(uint64_t)>& visit) {
    const Tensor& tensor = *tensors[cluster[i].index].tensor;
    const uint64_t places = SizeOf(tensor.dtype()) / unit;
    ForEachElement(tensor, [&](uint64_t offset) {
      const uint64_t first = (cluster[i].begin - begin + offset) / unit;
      for (uint64_t p = first; p < first + places; ++p) {
        if (!visit(p)) return false;
      }
      return true;
    });
  };
  for (size_t i = 0; i < cluster.size(); ++i) {
    std::optional<uint64_t> twice;
    for_each_place(i, [&](uint64_t place) {
      if (marked[place]) twice = place;
      marked[place] = true;
      return !twice.has_value();
    });
    if (!twice.has_value()) continue;
    for (size_t j = 0; j < i; ++j) {
      bool has = false;
      for_each_place(j, [&](uint64_t place) {
        has = place == *twice;
        return !has;
      });
      if (has) {
        return Overlap(entries[cluster[j].index], entries[cluster[i].index]);
      }
    }
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat(entries[cluster[i].index].Describe(),
                     ": two of its elements share bytes (an expanded view?); "
                     "copy it"));
  }
  return absl::OkStatus();
}

absl::Status CheckCluster(const std::vector<Range>& cluster,
                          const std::vector<ListedTensor>& tensors,
                          const std::vector<TableEntry>& entries) {
  const bool all_dense =
      std::all_of(cluster.begin(), cluster.end(), [&](const Range& range) {
        return tensors[range.index].tensor->IsDense();
      });
  if (!all_dense) return MarkElements(cluster, tensors, entries);
  if (cluster.size() == 1) return absl::OkStatus();
  return Overlap(entries[cluster[0].index], entries[cluster[1].index]);
}

}  // namespace

absl::Status CheckNoPartialOverlap(const std::vector<ListedTensor>& tensors,
                                   const std::vector<TableEntry>& entries) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Tensor& tensor = *tensors[i].tensor;
    if (entries[i].alias != 0 || entries[i].num_bytes() == 0) continue;
    if (!tensor.storage().has_value() && tensor.data() == nullptr) continue;
    Range range;
    range.index = i;
    range.named_storage = tensor.storage().has_value();
    range.storage = range.named_storage ? tensor.storage()->id : 0;
    range.begin = range.named_storage
                      ? tensor.storage()->offset
                      : reinterpret_cast<uintptr_t>(tensor.data());
    uint64_t last = 0;  // element with the highest offset
    for (size_t d = 0; d < tensor.strides().size(); ++d) {
      last += static_cast<uint64_t>(tensor.strides()[d]) *
              static_cast<uint64_t>(tensor.shape()[d] - 1);
    }
    range.end =
        range.begin + (tensor.IsDense() ? entries[i].num_bytes()
                                        : (last + 1) * SizeOf(tensor.dtype()));
    ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.named_storage, a.storage, a.begin, a.index) <
           std::tie(b.named_storage, b.storage, b.begin, b.index);
  });
  std::vector<Range> cluster;
  uint64_t end = 0;
  for (const Range& range : ranges) {
    const bool meets = !cluster.empty() &&
                       cluster.back().named_storage == range.named_storage &&
                       cluster.back().storage == range.storage &&
                       range.begin < end;
    if (meets) {
      // The same view under another item: each is stored by itself.
      const bool same =
          cluster.back().begin == range.begin &&
          SameView(*tensors[cluster.back().index].tensor,
                   *tensors[range.index].tensor) &&
          entries[cluster.back().index].item != entries[range.index].item;
      if (same) continue;
    } else if (!cluster.empty()) {
      absl::Status status = CheckCluster(cluster, tensors, entries);
      if (!status.ok()) return status;
      cluster.clear();
      end = 0;
    }
    cluster.push_back(range);
    end = std::max(end, range.end);
  }
  if (cluster.empty()) return absl::OkStatus();
  return CheckCluster(cluster, tensors, entries);
}

}  // namespace reprise
