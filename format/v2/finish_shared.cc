// What the coordinator of a shared save does.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/digest/chunk_digest.h"
#include "format/refusal.h"
#include "format/v2/shared_save.h"
#include "format/v2/slices.h"
#include "reprise/format/v2/writer_report.pb.h"

namespace reprise {
namespace {

using Key = std::tuple<Item, std::string, std::string>;

struct Reported {
  format::v2::WrittenSlice slice;
  uint32_t shard = 0;  // index in the list of all shards
};

class Coordinator {
 public:
  Coordinator(FileSystem* file_system, const std::string& folder)
      : file_system_(file_system), folder_(folder) {}

  absl::StatusOr<WrittenV2> Finish(const Snapshot& snapshot,
                                   const std::vector<std::string>& reports) {
    absl::StatusOr<DraftV2> draft = DraftOf(snapshot);
    if (!draft.ok()) return draft.status();
    absl::Status status = Collect(reports);
    if (status.ok()) status = CheckShards();
    for (TableEntry& entry : draft->tensors) {
      if (!status.ok()) return status;
      chunks_.emplace_back();
      if (entry.num_bytes() == 0 || entry.alias != 0) continue;
      status = Assemble(&entry, &chunks_.back());
    }
    if (!status.ok()) return status;
    if (!slices_.empty()) {
      const Key& key = slices_.begin()->first;
      return MakeRefusal(
          Refusal::MISMATCH,
          absl::StrCat("somebody wrote ", TextOf(std::get<0>(key)), " ",
                       std::get<1>(key),
                       ", which the snapshot has not, or as an alias"));
    }
    return FinishV2(file_system_, folder_, *std::move(draft), shards_, chunks_);
  }

 private:
  absl::Status Collect(const std::vector<std::string>& reports) {
    std::vector<std::pair<ShardInfo, const format::v2::WriterReport*>> all;
    std::vector<format::v2::WriterReport> parsed(reports.size());
    for (size_t i = 0; i < reports.size(); ++i) {
      if (!parsed[i].ParseFromString(reports[i])) {
        return MakeRefusal(Refusal::CORRUPT,
                           absl::StrCat("report ", i, " is no report"));
      }
      for (const auto& shard : parsed[i].shards()) {
        all.emplace_back(
            ShardInfo{shard.writer(), shard.number(), shard.size()},
            &parsed[i]);
      }
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first.writer, a.first.number) <
             std::tie(b.first.writer, b.first.number);
    });
    std::map<const format::v2::WriterReport*, std::vector<uint32_t>> places;
    for (const auto& [shard, report] : all) {
      if (!shards_.empty() && shards_.back().writer == shard.writer &&
          shards_.back().number == shard.number) {
        return MakeRefusal(Refusal::MISMATCH,
                           absl::StrCat(ShardName(shard),
                                        " is reported twice: two writers have "
                                        "one number"));
      }
      places[report].push_back(static_cast<uint32_t>(shards_.size()));
      shards_.push_back(shard);
    }
    for (const format::v2::WriterReport& report : parsed) {
      for (const format::v2::WrittenSlice& slice : report.slices()) {
        if (slice.shard() >= places[&report].size()) {
          return MakeRefusal(
              Refusal::CORRUPT,
              absl::StrCat("the report of writer ", report.writer(),
                           " names a shard that it has not"));
        }
        slices_[Key(static_cast<Item>(slice.item()), slice.name(),
                    slice.part())]
            .push_back({slice, places[&report][slice.shard()]});
      }
    }
    return absl::OkStatus();
  }

  // What is reported as durable is there.
  absl::Status CheckShards() {
    for (const ShardInfo& shard : shards_) {
      const std::string path = JoinPath(folder_, ShardName(shard));
      absl::StatusOr<FileInfo> info = file_system_->LinkStat(path);
      if (!info.ok()) return info.status();
      if (info->kind != FileKind::kRegular || info->size != shard.size) {
        return MakeRefusal(Refusal::MISMATCH,
                           absl::StrCat(path, ": reported with ", shard.size,
                                        " bytes, found ", info->size));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Assemble(TableEntry* entry, Chunks* chunks) {
    auto found = slices_.find(Key(entry->item, entry->name, entry->part));
    if (found == slices_.end()) {
      return MakeRefusal(
          Refusal::MISSING_ITEM,
          absl::StrCat(entry->Describe(), ": no writer reported it"));
    }
    std::vector<Reported> parts = std::move(found->second);
    slices_.erase(found);
    std::sort(parts.begin(), parts.end(),
              [](const Reported& a, const Reported& b) {
                return std::lexicographical_compare(
                    a.slice.start().begin(), a.slice.start().end(),
                    b.slice.start().begin(), b.slice.start().end());
              });
    bool contiguous = true;
    for (const Reported& part : parts) {
      const format::v2::WrittenSlice& slice = part.slice;
      if (static_cast<DType>(slice.dtype()) != entry->dtype ||
          !std::equal(slice.shape().begin(), slice.shape().end(),
                      entry->shape.begin(), entry->shape.end()) ||
          !std::equal(slice.order().begin(), slice.order().end(),
                      entry->order.begin(), entry->order.end())) {
        return MakeRefusal(Refusal::MISMATCH,
                           absl::StrCat(entry->Describe(),
                                        ": a writer has another dtype, shape "
                                        "or order of it"));
      }
      Extent extent;
      extent.shard = part.shard;
      extent.offset = slice.offset();
      extent.length = slice.length();
      if (parts.size() > 1) {
        extent.slice_start.assign(slice.start().begin(), slice.start().end());
        extent.slice_shape.assign(slice.slice_shape().begin(),
                                  slice.slice_shape().end());
      }
      contiguous &= slice.contiguous();
      entry->extents.push_back(std::move(extent));
    }
    absl::Status status = CheckEntry(*entry);
    if (!status.ok()) return status;
    chunks->resize(ChunkCount(entry->num_bytes()));
    return contiguous ? JoinChunks(*entry, parts, chunks)
                      : ReadBack(*entry, chunks);
  }

  // Chunks that lie in one slice are reported; those that two or more share are
  // put together from the bytes at the slices' ends.
  absl::Status JoinChunks(const TableEntry& entry,
                          const std::vector<Reported>& parts, Chunks* chunks) {
    std::string shared;  // bytes of the chunk that is being put together
    uint64_t shared_chunk = 0;
    uint64_t position = 0;  // slices cover the tensor in order
    auto add = [&](const std::string& bytes) {
      for (size_t at = 0; at < bytes.size();) {
        if (shared.empty()) shared_chunk = position / kDigestChunkBytes;
        const uint64_t end =
            std::min((shared_chunk + 1) * kDigestChunkBytes, entry.num_bytes());
        const size_t take =
            std::min<uint64_t>(bytes.size() - at, end - position);
        shared.append(bytes, at, take);
        at += take;
        position += take;
        if (position < end) continue;
        (*chunks)[shared_chunk] = ChunkDigest(shared.data(), shared.size());
        shared.clear();
      }
    };
    for (const Reported& part : parts) {
      const format::v2::WrittenSlice& slice = part.slice;
      const uint64_t begin = position;
      add(slice.head());
      if (slice.chunks_size() > 0) {
        if (slice.first_chunk() + slice.chunks_size() > chunks->size()) break;
        for (int c = 0; c < slice.chunks_size(); ++c) {
          (*chunks)[slice.first_chunk() + c] = slice.chunks(c);
        }
        position = begin + slice.length() - slice.tail().size();
        add(slice.tail());
      }
      if (position != begin + slice.length()) break;
    }
    if (position == entry.num_bytes() && shared.empty()) {
      return absl::OkStatus();
    }
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat(entry.Describe(),
                                    ": the reports' digests do not fit its "
                                    "slices"));
  }

  absl::Status ReadBack(const TableEntry& entry, Chunks* chunks) {
    std::string whole(entry.num_bytes(), '\0');
    for (const Extent& extent : entry.extents) {
      const std::string path =
          JoinPath(folder_, ShardName(shards_[extent.shard]));
      absl::StatusOr<std::unique_ptr<File>> file =
          file_system_->OpenForReading(path);
      if (!file.ok()) return file.status();
      std::string slice(extent.length, '\0');
      absl::Status status =
          ReadExactly(file->get(), extent.offset, &slice[0], slice.size());
      if (!status.ok()) return Annotate(status, path);
      ScatterSlice(entry, extent, slice.data(), &whole[0]);
    }
    DigestChunks(whole.data(), whole.size(), chunks->data());
    return absl::OkStatus();
  }

  FileSystem* const file_system_;
  const std::string folder_;
  std::vector<ShardInfo> shards_;
  std::map<Key, std::vector<Reported>> slices_;
  std::vector<Chunks> chunks_;
};

}  // namespace

absl::StatusOr<WrittenV2> FinishShared(
    FileSystem* file_system, const std::string& folder,
    const Snapshot& snapshot, const std::vector<std::string>& reports) {
  return Coordinator(file_system, folder).Finish(snapshot, reports);
}

}  // namespace reprise
