#include "format/snapshot.h"

#include <algorithm>
#include <utility>

namespace reprise {

size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

absl::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "f64";
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI64:
      return "i64";
    case DType::kU64:
      return "u64";
    case DType::kI32:
      return "i32";
    case DType::kU32:
      return "u32";
    case DType::kI16:
      return "i16";
    case DType::kU16:
      return "u16";
    case DType::kI8:
      return "i8";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      return "bool";
  }
  return "unknown";
}

bool IsFloatingPoint(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

Tensor Tensor::View(std::string name, DType dtype, std::vector<int64_t> shape,
                    const void* data) {
  return Shared(std::move(name), dtype, std::move(shape), nullptr, data);
}

Tensor Tensor::Shared(std::string name, DType dtype, std::vector<int64_t> shape,
                      std::shared_ptr<const void> owner, const void* data) {
  Tensor tensor;
  tensor.name_ = std::move(name);
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

int64_t Tensor::num_elements() const {
  int64_t product = 1;
  for (int64_t extent : shape_) product *= extent;
  return product;
}

void Snapshot::MarkSaved(Item item) {
  Mark(item, Presence::PRESENCE_SAVED, "");
}

void Snapshot::MarkEmpty(Item item) {
  Mark(item, Presence::PRESENCE_EMPTY, "");
}

void Snapshot::MarkNotApplicable(Item item, std::string reason) {
  Mark(item, Presence::PRESENCE_NOT_APPLICABLE, std::move(reason));
}

void Snapshot::MarkOmitted(Item item, std::string reason) {
  Mark(item, Presence::PRESENCE_OMITTED, std::move(reason));
}

void Snapshot::Mark(Item item, Presence presence, std::string reason) {
  ItemRecord record{item, presence, step, std::move(reason)};
  auto found = std::find_if(
      inventory.begin(), inventory.end(),
      [item](const ItemRecord& existing) { return existing.item == item; });
  if (found != inventory.end()) {
    *found = std::move(record);
  } else {
    inventory.push_back(std::move(record));
  }
}

const ItemRecord* Snapshot::Find(Item item) const {
  for (const ItemRecord& record : inventory) {
    if (record.item == item) return &record;
  }
  return nullptr;
}

}  // namespace reprise
