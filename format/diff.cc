#include "format/diff.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/field_values.h"
#include "format/v2/items.h"
#include "format/v2/tensor_list.h"

namespace reprise {
namespace {

std::string PresenceText(const Snapshot& snapshot, Item item) {
  const ItemRecord* record = snapshot.Find(item);
  return record == nullptr ? "no record" : TextOf(record->presence);
}

void DiffFields(const Snapshot& a, const Snapshot& b,
                std::vector<FieldDiff>* diffs) {
  for (Item item : ItemsOfV2()) {
    const std::string in_a = PresenceText(a, item);
    const std::string in_b = PresenceText(b, item);
    if (in_a != in_b) diffs->push_back({item, "presence", in_a, in_b});
  }
  std::map<std::string, FieldValue> of_b;
  for (FieldValue& value : FieldsOf(b)) {
    std::string path = value.path;
    of_b.emplace(std::move(path), std::move(value));
  }
  for (const FieldValue& value : FieldsOf(a)) {
    auto other = of_b.find(value.path);
    if (other == of_b.end()) {
      diffs->push_back({value.item, value.path, value.text, "absent"});
      continue;
    }
    if (other->second.text != value.text) {
      diffs->push_back(
          {value.item, value.path, value.text, other->second.text});
    }
    of_b.erase(other);
  }
  for (const auto& [path, value] : of_b) {
    diffs->push_back({value.item, path, "absent", value.text});
  }
  std::stable_sort(
      diffs->begin(), diffs->end(),
      [](const FieldDiff& x, const FieldDiff& y) { return x.item < y.item; });
}

// Exponent and mantissa of a floating-point type, in whole bits.
struct FloatLayout {
  int bytes;
  int mantissa;
  bool has_infinity;
};

std::optional<FloatLayout> LayoutOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return FloatLayout{8, 52, true};
    case DType::kF32:
      return FloatLayout{4, 23, true};
    case DType::kF16:
      return FloatLayout{2, 10, true};
    case DType::kBF16:
      return FloatLayout{2, 7, true};
    case DType::kF8E5M2:
      return FloatLayout{1, 2, true};
    case DType::kF8E4M3FN:
      return FloatLayout{1, 3, false};
    default:
      return std::nullopt;
  }
}

uint64_t LoadBits(const char* bytes, size_t size) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i) {
    bits |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i]))
            << (8 * i);
  }
  return bits;
}

bool IsFinite(uint64_t bits, const FloatLayout& layout) {
  const uint64_t magnitude = bits & ~(uint64_t{1} << (8 * layout.bytes - 1));
  const uint64_t infinity = ((uint64_t{1} << (8 * layout.bytes - 1)) - 1) >>
                            layout.mantissa << layout.mantissa;
  // E4M3FN spends only the highest pattern, on NaN.
  return layout.has_infinity ? magnitude < infinity : magnitude != 0x7f;
}

// Numbers in the order of the values, one apart for neighbours; -0 and 0 are
// one place.
int64_t Place(uint64_t bits, const FloatLayout& layout) {
  const uint64_t sign = uint64_t{1} << (8 * layout.bytes - 1);
  const int64_t magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

// Elements in logical order, in host memory.
std::string LogicalBytes(const Tensor& tensor) {
  std::string stored(tensor.num_bytes(), '\0');
  if (!tensor.CopyBytes(0, stored.size(), &stored[0]).ok()) return "";
  const std::vector<uint32_t> order = tensor.DimensionOrder();
  const std::vector<int64_t> strides = DenseStrides(tensor.shape(), order);
  if (strides.empty()) return stored;
  const Tensor view = Tensor::Strided("", tensor.dtype(), tensor.shape(),
                                      strides, nullptr, stored.data());
  const size_t element = SizeOf(tensor.dtype());
  std::string logical(stored.size(), '\0');
  std::vector<int64_t> index(tensor.shape().size(), 0);
  for (size_t at = 0; at < logical.size(); at += element) {
    int64_t position = 0;
    for (size_t d = 0; d < index.size(); ++d) position += index[d] * strides[d];
    logical.replace(at, element, stored, position * element, element);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.shape()[d]) break;
      index[d] = 0;
    }
  }
  return logical;
}

void CompareElements(const std::string& a, const std::string& b,
                     const Tensor& tensor, TensorDiff* diff) {
  const size_t element = SizeOf(tensor.dtype());
  const std::optional<FloatLayout> layout = LayoutOf(tensor.dtype());
  diff->elements = a.size() / element;
  for (uint64_t i = 0; i < diff->elements; ++i) {
    const char* in_a = a.data() + i * element;
    const char* in_b = b.data() + i * element;
    if (std::equal(in_a, in_a + element, in_b)) continue;
    if (diff->differing++ == 0) diff->first = i;
    if (!layout.has_value()) continue;
    const uint64_t bits_a = LoadBits(in_a, element);
    const uint64_t bits_b = LoadBits(in_b, element);
    if (!IsFinite(bits_a, *layout) || !IsFinite(bits_b, *layout)) {
      ++diff->non_finite;
      continue;
    }
    const int64_t place_a = Place(bits_a, *layout);
    const int64_t place_b = Place(bits_b, *layout);
    // Of opposite signs the difference can need 64 bits.
    const uint64_t distance = place_a > place_b
                                  ? static_cast<uint64_t>(place_a) - place_b
                                  : static_cast<uint64_t>(place_b) - place_a;
    diff->max_ulp = std::max(diff->max_ulp.value_or(0), distance);
  }
  if (!diff->first.has_value()) return;
  uint64_t rest = *diff->first;
  diff->first_index.assign(tensor.shape().size(), 0);
  for (size_t d = tensor.shape().size(); d-- > 0;) {
    diff->first_index[d] = rest % tensor.shape()[d];
    rest /= tensor.shape()[d];
  }
}

}  // namespace

std::optional<TensorDiff> DiffTensors(const Tensor& a, const Tensor& b) {
  TensorDiff diff;
  diff.name = a.name();
  if (a.dtype() != b.dtype()) {
    diff.kind = TensorDiff::Kind::kDtype;
    return diff;
  }
  if (a.shape() != b.shape()) {
    diff.kind = TensorDiff::Kind::kShape;
    return diff;
  }
  const bool same_order = a.DimensionOrder() == b.DimensionOrder();
  if (same_order && a.IsDense() && b.IsDense() && a.data() != nullptr &&
      b.data() != nullptr && a.bytes() == b.bytes()) {
    return std::nullopt;
  }
  diff.kind = same_order ? TensorDiff::Kind::kValues : TensorDiff::Kind::kOrder;
  CompareElements(LogicalBytes(a), LogicalBytes(b), a, &diff);
  if (same_order && diff.differing == 0) return std::nullopt;
  return diff;
}

SnapshotDiff Diff(const Snapshot& a, const Snapshot& b) {
  SnapshotDiff diff;
  DiffFields(a, b, &diff.fields);
  auto key = [](const ListedTensor& t) {
    return std::tie(t.item, t.name, t.part);
  };
  const std::vector<ListedTensor> of_a = ListTensors(a);
  const std::vector<ListedTensor> of_b = ListTensors(b);
  size_t i = 0;
  size_t j = 0;
  auto add = [&](const ListedTensor& listed, TensorDiff tensor) {
    tensor.item = listed.item;
    tensor.name = listed.name;
    tensor.part = listed.part;
    diff.tensors.push_back(std::move(tensor));
  };
  while (i < of_a.size() || j < of_b.size()) {
    TensorDiff only;
    if (j == of_b.size() || (i < of_a.size() && key(of_a[i]) < key(of_b[j]))) {
      only.kind = TensorDiff::Kind::kOnlyInA;
      add(of_a[i++], only);
    } else if (i == of_a.size() || key(of_b[j]) < key(of_a[i])) {
      only.kind = TensorDiff::Kind::kOnlyInB;
      add(of_b[j++], only);
    } else {
      std::optional<TensorDiff> both =
          DiffTensors(*of_a[i].tensor, *of_b[j].tensor);
      if (both.has_value()) add(of_a[i], *std::move(both));
      ++i;
      ++j;
    }
  }
  return diff;
}

std::set<Item> SnapshotDiff::items() const {
  std::set<Item> items;
  for (const FieldDiff& field : fields) items.insert(field.item);
  for (const TensorDiff& tensor : tensors) items.insert(tensor.item);
  return items;
}

std::string Describe(const TensorDiff& diff) {
  std::string text =
      absl::StrCat(TextOf(diff.item), " ", diff.name,
                   diff.part.empty() ? "" : "/", diff.part, ": ");
  switch (diff.kind) {
    case TensorDiff::Kind::kOnlyInA:
      return text + "only in the first";
    case TensorDiff::Kind::kOnlyInB:
      return text + "only in the second";
    case TensorDiff::Kind::kDtype:
      return text + "another dtype";
    case TensorDiff::Kind::kShape:
      return text + "another shape";
    case TensorDiff::Kind::kOrder:
      text += "another order of dimensions in memory; ";
      break;
    case TensorDiff::Kind::kValues:
      break;
  }
  if (diff.differing == 0) return text + "the values are the same";
  absl::StrAppend(&text, diff.differing, " of ", diff.elements,
                  " elements differ, the first at [",
                  absl::StrJoin(diff.first_index, ", "), "]");
  if (diff.max_ulp.has_value()) {
    absl::StrAppend(&text, ", by at most ", *diff.max_ulp, " ulp");
  }
  if (diff.non_finite > 0) {
    absl::StrAppend(&text, ", ", diff.non_finite, " of them not finite");
  }
  return text;
}

}  // namespace reprise
