#include "format/v2/tensor_table.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/refusal.h"
#include "format/v2/limits.h"
#include "format/v2/names.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;

constexpr uint64_t kMaxBytes = std::numeric_limits<int64_t>::max();
constexpr size_t kRootBytes = 16;

absl::Status Corrupt(absl::string_view what) {
  return MakeRefusal(Refusal::CORRUPT, absl::StrCat("tensor table: ", what));
}

absl::Status CheckColumn(absl::string_view name, uint64_t expected,
                         uint64_t found) {
  if (expected == found) return absl::OkStatus();
  return Corrupt(absl::StrCat("column ", name, ": expected ", expected,
                              " entries, found ", found));
}

// Reads the columns from front to back.
class Columns {
 public:
  explicit Columns(const v2::TensorTable& table) : table_(table) {}

  absl::StatusOr<std::vector<TableEntry>> Decode() {
    absl::Status status = CheckLengths();
    if (!status.ok()) return status;
    absl::StatusOr<std::vector<std::string>> names =
        UnpackNames("tensor table: names", table_.names());
    if (!names.ok()) return names.status();
    absl::StatusOr<std::vector<std::string>> parts =
        UnpackNames("tensor table: parts", table_.parts());
    if (!parts.ok()) return parts.status();
    std::vector<TableEntry> entries(names->size());
    for (size_t i = 0; i < entries.size(); ++i) {
      TableEntry& entry = entries[i];
      entry.item = static_cast<Item>(table_.items(i));
      entry.name = std::move((*names)[i]);
      entry.part = std::move((*parts)[i]);
      entry.dtype = static_cast<DType>(table_.dtypes(i));
      entry.alias = table_.aliases(i);
      entry.root = table_.root_digests().substr(i * kRootBytes, kRootBytes);
      const uint32_t rank = table_.ranks(i);
      for (uint32_t d = 0; d < rank; ++d, ++dimension_) {
        entry.shape.push_back(table_.shapes(dimension_));
        entry.order.push_back(table_.dimension_orders(dimension_));
      }
      ReadExtents(table_.extent_counts(i), rank, &entry);
    }
    return entries;
  }

 private:
  absl::Status CheckLengths() {
    const uint64_t count = table_.names().lengths_size();
    if (count > kV2MaxTensors) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("tensor table: ", count,
                                      " tensors, at most ", kV2MaxTensors));
    }
    uint64_t dimensions = 0;
    for (uint32_t rank : table_.ranks()) {
      if (rank > kV2MaxRank) {
        return MakeRefusal(Refusal::LIMIT,
                           absl::StrCat("tensor table: rank ", rank,
                                        ", at most ", kV2MaxRank));
      }
      dimensions += rank;
    }
    absl::Status status =
        CheckColumn("parts", count, table_.parts().lengths_size());
    status.Update(CheckColumn("items", count, table_.items_size()));
    status.Update(CheckColumn("dtypes", count, table_.dtypes_size()));
    status.Update(CheckColumn("ranks", count, table_.ranks_size()));
    status.Update(CheckColumn("shapes", dimensions, table_.shapes_size()));
    status.Update(CheckColumn("dimension_orders", dimensions,
                              table_.dimension_orders_size()));
    status.Update(CheckColumn("aliases", count, table_.aliases_size()));
    status.Update(
        CheckColumn("extent_counts", count, table_.extent_counts_size()));
    status.Update(CheckColumn("root_digests (bytes)", count * kRootBytes,
                              table_.root_digests().size()));
    if (!status.ok()) return status;
    uint64_t extents = 0;
    uint64_t slices = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t of_tensor = table_.extent_counts(i);
      if (of_tensor > kV2MaxExtentsOfATensor) {
        return MakeRefusal(
            Refusal::LIMIT,
            absl::StrCat("tensor table: a tensor of ", of_tensor,
                         " extents, at most ", kV2MaxExtentsOfATensor));
      }
      extents += of_tensor;
      if (of_tensor > 1) slices += of_tensor * table_.ranks(i);
    }
    if (extents > kV2MaxExtents) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("tensor table: ", extents,
                                      " extents, at most ", kV2MaxExtents));
    }
    status.Update(
        CheckColumn("extent_shards", extents, table_.extent_shards_size()));
    status.Update(
        CheckColumn("extent_offsets", extents, table_.extent_offsets_size()));
    status.Update(
        CheckColumn("extent_lengths", extents, table_.extent_lengths_size()));
    status.Update(
        CheckColumn("slice_starts", slices, table_.slice_starts_size()));
    status.Update(
        CheckColumn("slice_shapes", slices, table_.slice_shapes_size()));
    return status;
  }

  void ReadExtents(uint32_t count, uint32_t rank, TableEntry* entry) {
    for (uint32_t e = 0; e < count; ++e, ++extent_) {
      Extent& extent = entry->extents.emplace_back();
      extent.shard = table_.extent_shards(extent_);
      extent.offset = table_.extent_offsets(extent_);
      extent.length = table_.extent_lengths(extent_);
      for (uint32_t d = 0; count > 1 && d < rank; ++d, ++slice_) {
        extent.slice_start.push_back(table_.slice_starts(slice_));
        extent.slice_shape.push_back(table_.slice_shapes(slice_));
      }
    }
  }

  const v2::TensorTable& table_;
  int dimension_ = 0;
  int extent_ = 0;
  int slice_ = 0;
};

bool Overlap(const Extent& a, const Extent& b) {
  for (size_t d = 0; d < a.slice_start.size(); ++d) {
    if (a.slice_start[d] >= b.slice_start[d] + b.slice_shape[d] ||
        b.slice_start[d] >= a.slice_start[d] + a.slice_shape[d]) {
      return false;
    }
  }
  return true;
}

// Every slice is inside, none overlaps another, and together they have as many
// elements as the tensor.
absl::Status CheckSlices(const TableEntry& entry) {
  uint64_t total = 0;
  for (const Extent& extent : entry.extents) {
    if (extent.slice_start.size() != entry.shape.size() ||
        extent.slice_shape.size() != entry.shape.size()) {
      return Corrupt(
          absl::StrCat(entry.Describe(), ": a slice of another rank"));
    }
    for (size_t d = 0; d < entry.shape.size(); ++d) {
      if (extent.slice_start[d] > entry.shape[d] ||
          extent.slice_shape[d] > entry.shape[d] - extent.slice_start[d]) {
        return Corrupt(absl::StrCat(entry.Describe(), ": slice [",
                                    extent.slice_start[d], ", +",
                                    extent.slice_shape[d], ") in dimension ", d,
                                    " of ", entry.shape[d]));
      }
    }
    absl::StatusOr<uint64_t> bytes =
        CheckedBytes(entry.dtype, extent.slice_shape);
    if (!bytes.ok()) return bytes.status();
    if (*bytes != extent.length) {
      return Corrupt(absl::StrCat(entry.Describe(), ": a slice of ", *bytes,
                                  " bytes in an extent of ", extent.length));
    }
    total += extent.length;
    if (total > entry.num_bytes()) break;
  }
  if (total != entry.num_bytes()) {
    return Corrupt(absl::StrCat(entry.Describe(), ": slices of ", total,
                                " bytes for a tensor of ", entry.num_bytes()));
  }
  std::vector<const Extent*> sorted;
  for (const Extent& extent : entry.extents) sorted.push_back(&extent);
  std::sort(sorted.begin(), sorted.end(), [](const Extent* a, const Extent* b) {
    return a->slice_start < b->slice_start;
  });
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = i + 1; j < sorted.size(); ++j) {
      if (sorted[j]->slice_start[0] >=
          sorted[i]->slice_start[0] + sorted[i]->slice_shape[0]) {
        break;  // sorted: no later one touches it either
      }
      if (Overlap(*sorted[i], *sorted[j])) {
        return Corrupt(absl::StrCat(entry.Describe(), ": slices overlap"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOrder(const TableEntry& entry) {
  uint64_t seen = 0;
  if (entry.order.size() == entry.shape.size()) {
    for (uint32_t dimension : entry.order) {
      if (dimension < entry.shape.size()) seen |= uint64_t{1} << dimension;
    }
  }
  if (seen != (uint64_t{1} << entry.shape.size()) - 1) {
    return Corrupt(absl::StrCat(entry.Describe(),
                                ": its dimension order is no permutation"));
  }
  return absl::OkStatus();
}

absl::Status CheckAlias(const std::vector<TableEntry>& entries, size_t index) {
  const TableEntry& entry = entries[index];
  if (entry.alias == 0) return absl::OkStatus();
  if (entry.alias > index) {
    return Corrupt(absl::StrCat(entry.Describe(),
                                ": the same storage as tensor ",
                                entry.alias - 1, ", which is no earlier one"));
  }
  const TableEntry& owner = entries[entry.alias - 1];
  const bool of_model =
      entry.item == Item::MODEL_PARAMS || entry.item == Item::MODEL_BUFFERS;
  const bool owner_of_model =
      owner.item == Item::MODEL_PARAMS || owner.item == Item::MODEL_BUFFERS;
  if (owner.alias != 0 || owner.extents.empty() || !entry.extents.empty() ||
      !of_model || !owner_of_model || owner.dtype != entry.dtype ||
      owner.shape != entry.shape || owner.order != entry.order ||
      owner.root != entry.root) {
    return Corrupt(absl::StrCat(
        entry.Describe(), ": the same storage as ", owner.Describe(),
        ", which has not the same item kind, dtype, shape, order and digest "
        "or has no bytes of its own"));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t TableEntry::num_bytes() const {
  uint64_t bytes = SizeOf(dtype);
  for (uint64_t extent : shape) bytes *= extent;
  return bytes;
}

std::string TableEntry::Describe() const {
  return absl::StrCat(TextOf(item), " ", name, part.empty() ? "" : "/", part);
}

std::string ShardName(const ShardInfo& shard) {
  return absl::StrFormat("shard-%04d-%04d.bin", shard.writer, shard.number);
}

std::string DigestFileName(const ShardInfo& shard) {
  return absl::StrCat(ShardName(shard), ".digests");
}

absl::StatusOr<uint64_t> CheckedBytes(DType dtype,
                                      const std::vector<uint64_t>& shape) {
  uint64_t bytes = SizeOf(dtype);
  if (bytes == 0) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("dtype ", static_cast<int>(dtype),
                                    " is not one of format version 2"));
  }
  if (shape.size() > kV2MaxRank) {
    return MakeRefusal(Refusal::LIMIT, absl::StrCat("rank ", shape.size(),
                                                    ", at most ", kV2MaxRank));
  }
  // An extent of 0 makes the product 0, and the others must still be sane.
  bool empty = false;
  for (uint64_t extent : shape) {
    if (extent == 0) {
      empty = true;
    } else if (extent > kMaxBytes / bytes) {
      return MakeRefusal(Refusal::LIMIT,
                         "its shape has more than 2^63 - 1 bytes");
    } else {
      bytes *= extent;
    }
  }
  return empty ? 0 : bytes;
}

bool HasTensors(Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
    case Item::MODEL_BUFFERS:
    case Item::OPTIM_MOMENTS:
    case Item::MASTER:
    case Item::ACCUM_GRADS:
    case Item::EMA_WEIGHTS:
    case Item::USER:
      return true;
    default:
      return false;
  }
}

absl::Status CheckEntry(const TableEntry& entry) {
  if (!HasTensors(entry.item)) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat(TextOf(entry.item), ": tensor ", entry.name,
                                    ": the item has no tensors"));
  }
  absl::Status status = CheckNameV2("tensor", entry.name);
  if (!status.ok()) return Annotate(status, TextOf(entry.item));
  if ((entry.item == Item::OPTIM_MOMENTS) == entry.part.empty()) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat(entry.Describe(),
                     ": moments, and only they, name their part"));
  }
  if (!entry.part.empty()) {
    status = CheckNameV2("part", entry.part);
    if (!status.ok()) return Annotate(status, entry.Describe());
  }
  absl::StatusOr<uint64_t> bytes = CheckedBytes(entry.dtype, entry.shape);
  if (!bytes.ok()) return Annotate(bytes.status(), entry.Describe());
  status = CheckOrder(entry);
  if (!status.ok()) return status;
  if (*bytes == 0 || entry.alias != 0) {
    if (entry.extents.empty() && (*bytes != 0 || entry.alias == 0)) {
      return absl::OkStatus();
    }
    return Corrupt(absl::StrCat(
        entry.Describe(), ": extents or storage of an empty tensor or alias"));
  }
  if (entry.extents.empty()) {
    return Corrupt(
        absl::StrCat(entry.Describe(), ": no extents for ", *bytes, " bytes"));
  }
  if (entry.extents.size() > 1) return CheckSlices(entry);
  if (entry.extents[0].length == *bytes) return absl::OkStatus();
  return Corrupt(absl::StrCat(entry.Describe(), ": expected ", *bytes,
                              " bytes by its shape, found an extent of ",
                              entry.extents[0].length));
}

absl::Status CheckPacking(const std::vector<TableEntry>& entries,
                          const std::vector<ShardInfo>& shards) {
  struct Placed {
    uint64_t offset;
    const Extent* extent;
    const TableEntry* entry;
  };
  std::vector<std::vector<Placed>> of_shard(shards.size());
  for (const TableEntry& entry : entries) {
    for (const Extent& extent : entry.extents) {
      if (extent.shard >= shards.size()) {
        return Corrupt(absl::StrCat(entry.Describe(), ": in shard ",
                                    extent.shard, " of ", shards.size()));
      }
      of_shard[extent.shard].push_back({extent.offset, &extent, &entry});
    }
  }
  auto round_up = [](uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
  };
  for (size_t s = 0; s < shards.size(); ++s) {
    std::vector<Placed>& placed = of_shard[s];
    std::sort(
        placed.begin(), placed.end(),
        [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
    uint64_t end = 0;
    for (const Placed& p : placed) {
      const uint64_t expected = round_up(end, kExtentAlignment);
      if (p.offset != expected) {
        return Corrupt(absl::StrCat(p.entry->Describe(), ": at offset ",
                                    p.offset, " of ", ShardName(shards[s]),
                                    ", expected ", expected));
      }
      if (p.extent->length == 0) {
        return Corrupt(
            absl::StrCat(p.entry->Describe(), ": an extent of no bytes"));
      }
      if (p.extent->length > kMaxBytes - kShardAlignment - p.offset) {
        return Corrupt(
            absl::StrCat(p.entry->Describe(), ": ends beyond 2^63 bytes"));
      }
      end = p.offset + p.extent->length;
    }
    if (placed.empty() || shards[s].size != round_up(end, kShardAlignment)) {
      return Corrupt(absl::StrCat(ShardName(shards[s]), ": ", shards[s].size,
                                  " bytes announced for extents that end at ",
                                  end));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ShardInfo>> DecodeShards(
    const v2::Manifest& manifest) {
  if (static_cast<uint64_t>(manifest.shards_size()) > kV2MaxShards) {
    return MakeRefusal(Refusal::LIMIT,
                       absl::StrCat(manifest.shards_size(), " shards, at most ",
                                    kV2MaxShards));
  }
  std::vector<ShardInfo> shards;
  for (const v2::Shard& in : manifest.shards()) {
    if (!in.has_writer() || !in.has_number() || !in.has_size()) {
      return MakeRefusal(Refusal::CORRUPT,
                         "a shard lacks its writer, number or size");
    }
    ShardInfo shard{in.writer(), in.number(), in.size()};
    if (!shards.empty() &&
        std::tie(shard.writer, shard.number) <=
            std::tie(shards.back().writer, shards.back().number)) {
      return MakeRefusal(
          Refusal::CORRUPT,
          absl::StrCat(ShardName(shard), " comes twice or out of order"));
    }
    shards.push_back(shard);
  }
  return shards;
}

absl::StatusOr<std::vector<TableEntry>> DecodeTable(
    const v2::TensorTable& table, const std::vector<ShardInfo>& shards) {
  absl::StatusOr<std::vector<TableEntry>> entries = Columns(table).Decode();
  if (!entries.ok()) return entries.status();
  for (size_t i = 0; i < entries->size(); ++i) {
    const TableEntry& entry = (*entries)[i];
    absl::Status status = CheckEntry(entry);
    if (status.ok()) status = CheckAlias(*entries, i);
    if (!status.ok()) return status;
    if (i == 0 || (*entries)[i - 1].Key() < entry.Key()) continue;
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat(entry.Describe(), (*entries)[i - 1].Key() == entry.Key()
                                           ? ": two tensors of this name"
                                           : ": the table is not sorted"));
  }
  absl::Status status = CheckPacking(*entries, shards);
  if (!status.ok()) return status;
  return entries;
}

void EncodeTable(const std::vector<TableEntry>& entries,
                 v2::TensorTable* table) {
  // There also when there are no tensors.
  table->mutable_names();
  table->mutable_parts();
  for (const TableEntry& entry : entries) {
    PackName(entry.name, table->mutable_names());
    PackName(entry.part, table->mutable_parts());
    table->add_items(entry.item);
    table->add_dtypes(static_cast<v2::DType>(entry.dtype));
    table->add_ranks(static_cast<uint32_t>(entry.shape.size()));
    for (uint64_t extent : entry.shape) table->add_shapes(extent);
    for (uint32_t dimension : entry.order) {
      table->add_dimension_orders(dimension);
    }
    table->add_aliases(entry.alias);
    table->add_extent_counts(static_cast<uint32_t>(entry.extents.size()));
    for (const Extent& extent : entry.extents) {
      table->add_extent_shards(extent.shard);
      table->add_extent_offsets(extent.offset);
      table->add_extent_lengths(extent.length);
      for (uint64_t start : extent.slice_start) table->add_slice_starts(start);
      for (uint64_t size : extent.slice_shape) table->add_slice_shapes(size);
    }
    std::string root = entry.root;
    root.resize(kRootBytes);
    table->mutable_root_digests()->append(root);
  }
}

void EncodeShards(const std::vector<ShardInfo>& shards,
                  v2::Manifest* manifest) {
  for (const ShardInfo& shard : shards) {
    v2::Shard* out = manifest->add_shards();
    out->set_writer(shard.writer);
    out->set_number(shard.number);
    out->set_size(shard.size);
  }
}

}  // namespace reprise
