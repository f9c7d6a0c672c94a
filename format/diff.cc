#include "format/diff.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/v2/fields.h"
#include "format/v2/items.h"
#include "format/v2/names.h"
#include "format/v2/tensor_list.h"
#include "google/protobuf/descriptor.h"
#include "reprise/spec/v2/annotations.pb.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A snapshot whose values can be looked at whatever its records say.
v2::Manifest ValuesOf(const Snapshot& snapshot) {
  Snapshot values = snapshot;
  for (Item item : ItemsOfV2()) {
    // Steps cannot be put down without states.
    if (item == Item::OPTIM_STEP && !IsSavedV2(snapshot, item)) {
      values.MarkOmitted(item, "not there");
    } else {
      values.MarkSaved(item);
    }
  }
  v2::Manifest manifest;
  // A parameter without state has no steps, which then differ.
  ToManifest(values, &manifest).IgnoreError();
  return manifest;
}

// Text of one leaf value.
std::string ValueText(const Message& message, const FieldDescriptor* field,
                      int index) {
  const Reflection* r = message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return (repeated ? r->GetRepeatedBool(message, field, index)
                       : r->GetBool(message, field))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return (repeated ? r->GetRepeatedEnum(message, field, index)
                       : r->GetEnum(message, field))
          ->name();
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(repeated ? r->GetRepeatedInt64(message, field, index)
                                   : r->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(repeated ? r->GetRepeatedUInt32(message, field, index)
                                   : r->GetUInt32(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(repeated ? r->GetRepeatedUInt64(message, field, index)
                                   : r->GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return absl::StrFormat("%.9g", r->GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrFormat(
          "%.17g", repeated ? r->GetRepeatedDouble(message, field, index)
                            : r->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = repeated
                                   ? r->GetRepeatedString(message, field, index)
                                   : r->GetString(message, field);
      if (field->type() == FieldDescriptor::TYPE_STRING) return text;
      return absl::StrCat(absl::BytesToHexString(text.substr(0, 32)),
                          text.size() > 32 ? "..." : "");
    }
    default:
      return "";
  }
}

struct Leaf {
  Item item;
  std::string text;
};
// By path. Elements of lists that have names are named by them.
using Leaves = std::map<std::string, Leaf>;

std::string KeyOf(const Message& element, int index) {
  const auto* type = element.GetDescriptor();
  for (const char* key : {"name", "path", "generator"}) {
    const FieldDescriptor* field = type->FindFieldByName(key);
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_STRING) {
      return element.GetReflection()->GetString(element, field);
    }
  }
  return absl::StrCat(index);
}

void Collect(const Message& message, Item inherited, const std::string& path,
             Leaves* leaves) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const Item own = ItemOfField(field);
    const Item item = own != Item::ITEM_UNSPECIFIED ? own : inherited;
    // Bookkeeping of the file itself.
    if (item == Item::ITEM_UNSPECIFIED &&
        field->options().GetExtension(v2::outside_value)) {
      continue;
    }
    const std::string field_path =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    const bool names = field->message_type() == v2::Names::descriptor();
    if (names) {
      const auto& list = dynamic_cast<const v2::Names&>(
          reflection->GetMessage(message, field));
      absl::StatusOr<std::vector<std::string>> unpacked =
          UnpackNames(field_path, list);
      (*leaves)[field_path] = {
          item, unpacked.ok()
                    ? absl::StrCat("[", absl::StrJoin(*unpacked, ", "), "]")
                    : "damaged"};
    } else if (field->is_repeated()) {
      const int count = reflection->FieldSize(message, field);
      for (int i = 0; i < count; ++i) {
        if (field->message_type() == nullptr) {
          (*leaves)[absl::StrCat(field_path, "[", i, "]")] = {
              item, ValueText(message, field, i)};
          continue;
        }
        const Message& element =
            reflection->GetRepeatedMessage(message, field, i);
        Collect(element, item,
                absl::StrCat(field_path, "[", KeyOf(element, i), "]"), leaves);
      }
    } else if (field->message_type() != nullptr) {
      Collect(reflection->GetMessage(message, field), item, field_path, leaves);
    } else {
      (*leaves)[field_path] = {item, ValueText(message, field, -1)};
    }
  }
}

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
  Leaves of_a, of_b;
  Collect(ValuesOf(a), Item::ITEM_UNSPECIFIED, "", &of_a);
  Collect(ValuesOf(b), Item::ITEM_UNSPECIFIED, "", &of_b);
  for (const auto& [path, leaf] : of_a) {
    auto other = of_b.find(path);
    if (other == of_b.end()) {
      diffs->push_back({leaf.item, path, leaf.text, "absent"});
    } else if (other->second.text != leaf.text) {
      diffs->push_back({leaf.item, path, leaf.text, other->second.text});
    }
  }
  for (const auto& [path, leaf] : of_b) {
    if (of_a.count(path) == 0) {
      diffs->push_back({leaf.item, path, "absent", leaf.text});
    }
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
