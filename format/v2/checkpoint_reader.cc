// One file, as all of it is one walk over the pieces of the shards.
#include "format/v2/checkpoint_reader.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/digest/chunk_digest.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/v2/parallel.h"
#include "format/v2/shard_layout.h"
#include "format/v2/slices.h"
#include "format/v2/tensor_list.h"

namespace reprise {
namespace {

constexpr uint64_t kLargeBytes = uint64_t{1} << 18;
constexpr uint64_t kPieceBytes = uint64_t{1} << 23;
// What is read at once into memory that is digested while it is in the cache.
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

std::shared_ptr<void> AlignedMemory(uint64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, bytes) != 0) return nullptr;
  return std::shared_ptr<void>(memory, free);
}

bool AllZero(const char* bytes, uint64_t size) {
  return size == 0 ||
         (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

absl::Status GapNotZero(const std::string& file, const char* bytes,
                        uint64_t size, uint64_t offset) {
  const char* found =
      std::find_if(bytes, bytes + size, [](char c) { return c != 0; });
  return MakeRefusal(
      Refusal::CORRUPT,
      absl::StrCat(file, ": offset ", offset + (found - bytes),
                   ": between tensors: expected 0, found ",
                   static_cast<int>(static_cast<unsigned char>(*found))));
}

using Clock = std::chrono::steady_clock;

// Adds the time of its life.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<int64_t>* nanoseconds)
      : nanoseconds_(nanoseconds), begin_(Clock::now()) {}
  ~Stopwatch() { *nanoseconds_ += (Clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::atomic<int64_t>* const nanoseconds_;
  const Clock::time_point begin_;
};

}  // namespace

// What one reading collects.
struct CheckpointReader::Job {
  const ReadV2Options* options = nullptr;
  // Entries that are wanted; others are passed over. Empty: all.
  std::vector<bool> wanted;
  // Whether the bytes are kept, or only checked.
  bool keep = true;
  // Whether gaps and tails are looked at.
  bool gaps = true;
  std::vector<std::shared_ptr<void>> memory;  // of each entry
  std::vector<Chunks> chunks;                 // of each entry
  // Where bytes between tensors that are not zero are put down instead of
  // ending the reading; null: they end it.
  std::vector<absl::Status>* damage = nullptr;
  std::mutex mutex;  // of `damage`
  std::function<void(uint64_t done, uint64_t total)> progress;
  std::atomic<uint64_t> done{0};
  uint64_t total = 0;
  // Of all threads together.
  std::atomic<int64_t> reading{0};
  std::atomic<int64_t> digesting{0};

  bool Wants(size_t entry) const { return wanted.empty() || wanted[entry]; }
  absl::Status Read(File* file, uint64_t offset, char* out, size_t size) {
    const Stopwatch watch(&reading);
    return ReadExactly(file, offset, out, size);
  }
  void Digest(const char* bytes, uint64_t size, uint64_t* digests) {
    const Stopwatch watch(&digesting);
    DigestChunks(bytes, size, digests);
  }
  void Advance(uint64_t bytes) {
    if (progress) progress(done += bytes, total);
  }
  absl::Status Gap(absl::Status problem) {
    if (damage == nullptr) return problem;
    std::lock_guard<std::mutex> lock(mutex);
    damage->push_back(std::move(problem));
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(
    const std::string& given_path, FileSystem* file_system) {
  const std::string path = WithoutTrailingSlashes(given_path);
  absl::StatusOr<FileInfo> info = file_system->LinkStat(path);
  if (!info.ok()) return info.status();
  if (info->kind != FileKind::kFolder) {
    return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                       absl::StrCat(path, ": not a folder"));
  }
  absl::StatusOr<ManifestFile> file =
      ReadManifestFile(file_system, JoinPath(path, kManifestName));
  if (!file.ok()) return file.status();
  return OpenShards(path, *std::move(file), file_system);
}

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::OpenShards(
    const std::string& path, ManifestFile manifest, FileSystem* file_system) {
  if (manifest.envelope.major != kV2Major) {
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat(path, ": of format version ",
                                    manifest.envelope.major, ", expected 2"));
  }
  absl::StatusOr<ManifestV2> decoded =
      DecodeV2(manifest.manifest, manifest.envelope.minor);
  if (!decoded.ok()) {
    return Annotate(decoded.status(), JoinPath(path, kManifestName));
  }
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader);
  reader->path_ = path;
  reader->file_system_ = file_system;
  reader->manifest_digest_ = manifest.envelope.manifest_digest;
  reader->manifest_ = *std::move(decoded);
  for (const ShardInfo& shard : reader->manifest_.shards) {
    const std::string name = JoinPath(path, ShardName(shard));
    absl::StatusOr<std::unique_ptr<File>> file =
        file_system->OpenForReading(name);
    if (!file.ok()) {
      if (ErrnoOf(file.status()) != ENOENT) return file.status();
      // Pruned meanwhile, or never whole?
      absl::StatusOr<FileInfo> folder = file_system->LinkStat(path);
      if (!folder.ok()) return folder.status();
      return MakeRefusal(Refusal::CORRUPT,
                         absl::StrCat(name,
                                      ": not there, but the manifest "
                                      "names it; an incomplete copy"));
    }
    absl::StatusOr<FileInfo> info = (*file)->Stat();
    if (!info.ok()) return info.status();
    if (info->size != shard.size) {
      return MakeRefusal(
          info->size < shard.size ? Refusal::TRUNCATED : Refusal::CORRUPT,
          absl::StrCat(name, ": expected ", shard.size, " bytes, found ",
                       info->size));
    }
    reader->shards_.push_back(*std::move(file));
  }
  return reader;
}

absl::Status CheckpointReader::ReadLarge(const Piece& piece, Job* job) const {
  const PiecePart& part = piece.parts[0];
  if (!job->Wants(part.entry)) return absl::OkStatus();
  std::string scratch;
  char* out = nullptr;
  if (job->keep) {
    out = static_cast<char*>(job->memory[part.entry].get()) + part.offset;
  }
  uint64_t* chunks =
      job->chunks[part.entry].data() + part.offset / kDigestChunkBytes;
  for (uint64_t at = 0; at < piece.length; at += kBlockBytes) {
    const uint64_t size = std::min(kBlockBytes, piece.length - at);
    char* block = job->keep ? out + at : nullptr;
    if (block == nullptr) {
      scratch.resize(kBlockBytes);
      block = &scratch[0];
    }
    absl::Status status =
        job->Read(shards_[piece.shard].get(), piece.offset + at, block, size);
    if (!status.ok()) return status;
    job->Digest(block, size, chunks + at / kDigestChunkBytes);
  }
  return absl::OkStatus();
}

absl::Status CheckpointReader::ReadPiece(const Piece& piece, Job* job) const {
  const std::string file =
      JoinPath(path_, ShardName(manifest_.shards[piece.shard]));
  if (piece.large) {
    // Slices are put together one tensor after another.
    if (manifest_.tensors[piece.parts[0].entry].extents.size() > 1) {
      return absl::OkStatus();
    }
    return Annotate(ReadLarge(piece, job), file);
  }
  if (!job->gaps &&
      std::none_of(piece.parts.begin(), piece.parts.end(),
                   [&](const PiecePart& p) { return job->Wants(p.entry); })) {
    return absl::OkStatus();
  }
  std::string buffer(piece.length, '\0');
  absl::Status status = job->Read(shards_[piece.shard].get(), piece.offset,
                                  &buffer[0], buffer.size());
  if (!status.ok()) return Annotate(status, file);
  uint64_t end = 0;  // of what has been looked at
  for (const PiecePart& part : piece.parts) {
    const TableEntry& entry = manifest_.tensors[part.entry];
    const uint64_t at = entry.extents[part.extent].offset - piece.offset;
    if (job->gaps && !AllZero(&buffer[end], at - end)) {
      status = job->Gap(
          GapNotZero(file, &buffer[end], at - end, piece.offset + end));
      if (!status.ok()) return status;
    }
    end = at + part.length;
    if (!job->Wants(part.entry) || entry.extents.size() > 1) continue;
    job->Digest(&buffer[at], part.length, job->chunks[part.entry].data());
    if (job->keep) {
      std::memcpy(job->memory[part.entry].get(), &buffer[at], part.length);
    }
  }
  if (job->gaps && !AllZero(buffer.data() + end, buffer.size() - end)) {
    return job->Gap(GapNotZero(file, buffer.data() + end, buffer.size() - end,
                               piece.offset + end));
  }
  return absl::OkStatus();
}

absl::Status CheckpointReader::ReadSlices(size_t index, Job* job) const {
  const TableEntry& entry = manifest_.tensors[index];
  std::shared_ptr<void> memory = job->memory[index];
  if (memory == nullptr) {
    memory = AlignedMemory(entry.num_bytes());
    if (memory == nullptr) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat(entry.Describe(), ": no memory for ",
                                      entry.num_bytes(), " bytes"));
    }
  }
  char* whole = static_cast<char*>(memory.get());
  for (const Extent& extent : entry.extents) {
    std::string slice(extent.length, '\0');
    absl::Status status = job->Read(shards_[extent.shard].get(), extent.offset,
                                    &slice[0], slice.size());
    if (!status.ok()) {
      return Annotate(
          status, JoinPath(path_, ShardName(manifest_.shards[extent.shard])));
    }
    ScatterSlice(entry, extent, slice.data(), whole);
  }
  job->Digest(whole, entry.num_bytes(), job->chunks[index].data());
  return absl::OkStatus();
}

absl::Status CheckpointReader::ReadBytes(Job* job, int threads) const {
  const std::vector<TableEntry>& entries = manifest_.tensors;
  job->memory.resize(entries.size());
  job->chunks.resize(entries.size());
  std::vector<size_t> in_slices;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!job->Wants(i) || entries[i].extents.empty()) continue;
    job->chunks[i].resize(ChunkCount(entries[i].num_bytes()));
    if (entries[i].extents.size() > 1) in_slices.push_back(i);
    if (!job->keep) continue;
    // Not more than the shards really have: their sizes were compared.
    job->memory[i] = job->options->allocate
                         ? job->options->allocate(entries[i].num_bytes())
                         : AlignedMemory(entries[i].num_bytes());
    if (job->memory[i] == nullptr) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat(entries[i].Describe(), ": no memory for ",
                                      entries[i].num_bytes(), " bytes"));
    }
  }
  const std::vector<Piece> pieces =
      PlanPieces(entries, manifest_.shards, kLargeBytes, kPieceBytes);
  for (const Piece& piece : pieces) job->total += piece.length;
  absl::Status status = ParallelFor(threads, pieces.size(), [&](size_t i) {
    absl::Status read = ReadPiece(pieces[i], job);
    job->Advance(pieces[i].length);
    return read;
  });
  if (status.ok()) {
    // One after another when the bytes are not kept: one such tensor at a time.
    status =
        ParallelFor(job->keep ? threads : 1, in_slices.size(),
                    [&](size_t i) { return ReadSlices(in_slices[i], job); });
  }
  return status;
}

absl::Status CheckpointReader::ReadAndCheck(Job* job, int threads) const {
  absl::Status status = ReadBytes(job, threads);
  if (!status.ok()) return status;
  const std::vector<absl::Status> damage = CheckRoots(*job);
  return damage.empty() ? absl::OkStatus() : damage.front();
}

std::vector<absl::Status> CheckpointReader::CheckRoots(const Job& job) const {
  std::vector<absl::Status> damage;
  for (size_t i = 0; i < manifest_.tensors.size(); ++i) {
    const TableEntry& entry = manifest_.tensors[i];
    // An alias has the digest of its owner; the table was checked for that.
    if (!job.Wants(i) || entry.alias != 0) continue;
    if (RootDigest(entry.num_bytes(), job.chunks[i]) != entry.root) {
      damage.push_back(LocateDamage(i, job.chunks[i]));
      if (job.damage == nullptr) break;
    }
  }
  return damage;
}

absl::Status CheckpointReader::LocateDamage(size_t index,
                                            const Chunks& found) const {
  const TableEntry& entry = manifest_.tensors[index];
  if (entry.extents.empty()) {
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat(path_, ": ", entry.Describe(),
                                    ": the digest of no bytes is wrong"));
  }
  const uint32_t shard = entry.extents[0].shard;
  const ShardInfo& info = manifest_.shards[shard];
  const std::string file = JoinPath(path_, ShardName(info));
  std::string where = absl::StrCat(file, ": ", entry.Describe(), ": ");
  absl::StatusOr<std::string> digests =
      ReadSmallFile(file_system_, JoinPath(path_, DigestFileName(info)),
                    DigestFileSize(manifest_.tensors, shard));
  absl::StatusOr<std::vector<Chunks>> expected =
      digests.ok() ? DecodeDigestFile(*digests, manifest_.tensors, shard)
                   : absl::StatusOr<std::vector<Chunks>>(digests.status());
  if (expected.ok()) {
    const std::vector<size_t> order =
        EntriesOfDigestFile(manifest_.tensors, shard);
    const size_t place =
        std::find(order.begin(), order.end(), index) - order.begin();
    const Chunks& right = (*expected)[place];
    uint64_t wrong = 0;
    uint64_t first = 0;
    for (uint64_t c = 0; c < right.size(); ++c) {
      if (right[c] == found[c]) continue;
      if (wrong++ == 0) first = c;
    }
    if (wrong > 0 && RootDigest(entry.num_bytes(), right) == entry.root) {
      const uint64_t begin = first * kDigestChunkBytes;
      const uint64_t end =
          std::min(begin + kDigestChunkBytes, entry.num_bytes());
      absl::StrAppend(&where, "damaged in bytes [", begin, ", ", end,
                      ") of the tensor");
      if (entry.extents.size() == 1) {
        absl::StrAppend(&where, ", offset ", entry.extents[0].offset + begin,
                        " of the file");
      }
      if (wrong > 1) {
        absl::StrAppend(&where, ", and in ", wrong - 1, " more places");
      }
      return MakeRefusal(Refusal::CORRUPT, where);
    }
  }
  return MakeRefusal(
      Refusal::CORRUPT,
      absl::StrCat(where, "damaged somewhere in its ", entry.num_bytes(),
                   " bytes, from offset ", entry.extents[0].offset,
                   " of the file (its digest file cannot say where)"));
}

Tensor CheckpointReader::TensorAt(size_t index,
                                  std::shared_ptr<const void> owner,
                                  const void* data) const {
  const TableEntry& entry = manifest_.tensors[index];
  const std::vector<int64_t> shape(entry.shape.begin(), entry.shape.end());
  return Tensor::Strided(entry.part.empty() ? entry.name : entry.part,
                         entry.dtype, shape, DenseStrides(shape, entry.order),
                         std::move(owner), data);
}

absl::StatusOr<Snapshot> CheckpointReader::Assemble(
    const std::function<Tensor(size_t index)>& tensor) const {
  Snapshot snapshot = manifest_.snapshot;
  // From here on with data.
  ClearTensors(&snapshot);
  TensorPlacer placer(&snapshot);
  for (size_t i = 0; i < manifest_.tensors.size(); ++i) {
    absl::Status status = placer.Place(manifest_.tensors[i], tensor(i));
    if (!status.ok()) return status;
  }
  return snapshot;
}

absl::StatusOr<Snapshot> CheckpointReader::ReadAll(
    const ReadV2Options& options) const {
  Job job;
  job.options = &options;
  const Clock::time_point begin = Clock::now();
  absl::Status status = ReadAndCheck(&job, options.threads);
  if (!status.ok()) return status;
  if (options.verify_seconds != nullptr) {
    const double busy = job.reading + job.digesting;
    const std::chrono::duration<double> wall = Clock::now() - begin;
    *options.verify_seconds =
        busy == 0 ? 0 : wall.count() * job.digesting / busy;
  }
  return Assemble([&](size_t i) {
    const uint32_t alias = manifest_.tensors[i].alias;
    const std::shared_ptr<void>& memory =
        job.memory[alias != 0 ? alias - 1 : i];
    return TensorAt(i, memory, memory.get());
  });
}

absl::StatusOr<Snapshot> CheckpointReader::View(
    const ReadV2Options& options) const {
  Job job;
  job.options = &options;
  job.keep = false;
  absl::Status status = ReadAndCheck(&job, options.threads);
  if (!status.ok()) return status;
  std::vector<std::shared_ptr<const void>> mapped;
  for (size_t s = 0; s < shards_.size(); ++s) {
    absl::StatusOr<std::shared_ptr<const void>> shard =
        shards_[s]->Map(manifest_.shards[s].size);
    if (!shard.ok()) return Annotate(shard.status(), path_);
    mapped.push_back(*std::move(shard));
  }
  // Slices have no place where they lie together.
  std::vector<std::shared_ptr<const Tensor>> copies(manifest_.tensors.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    if (manifest_.tensors[i].extents.size() <= 1) continue;
    absl::StatusOr<Tensor> tensor = ReadTensor(i, options);
    if (!tensor.ok()) return tensor.status();
    copies[i] = std::make_shared<const Tensor>(*std::move(tensor));
  }
  return Assemble([&](size_t i) {
    const uint32_t alias = manifest_.tensors[i].alias;
    const size_t owner = alias != 0 ? alias - 1 : i;
    const std::vector<Extent>& extents = manifest_.tensors[owner].extents;
    if (extents.size() > 1) {
      return TensorAt(i, copies[owner], copies[owner]->data());
    }
    if (extents.empty()) return TensorAt(i, nullptr, nullptr);
    const std::shared_ptr<const void>& shard = mapped[extents[0].shard];
    return TensorAt(i, shard,
                    static_cast<const char*>(shard.get()) + extents[0].offset);
  });
}

absl::StatusOr<Tensor> CheckpointReader::ReadTensor(
    size_t index, const ReadV2Options& options) const {
  const TableEntry& entry = manifest_.tensors[index];
  const size_t owner = entry.alias != 0 ? entry.alias - 1 : index;
  Job job;
  job.options = &options;
  job.gaps = false;
  job.wanted.resize(manifest_.tensors.size());
  job.wanted[owner] = true;
  absl::Status status = ReadAndCheck(&job, options.threads);
  if (!status.ok()) return status;
  return TensorAt(index, job.memory[owner], job.memory[owner].get());
}

absl::Status CheckpointReader::Verify(int threads) const {
  const std::vector<absl::Status> damage = FindDamage(threads, nullptr);
  return damage.empty() ? absl::OkStatus() : damage.front();
}

std::vector<absl::Status> CheckpointReader::FindDamage(
    int threads,
    const std::function<void(uint64_t done, uint64_t total)>& progress) const {
  std::vector<absl::Status> damage;
  Job job;
  job.keep = false;
  job.damage = &damage;
  job.progress = progress;
  absl::Status status = ReadBytes(&job, threads);
  // Without all bytes there are no digests to compare.
  if (status.ok()) {
    for (absl::Status& tensor : CheckRoots(job)) {
      damage.push_back(std::move(tensor));
    }
    CheckOtherFiles(&damage);
  } else {
    damage.push_back(std::move(status));
  }
  return damage;
}

absl::Status CheckpointReader::VerifyAllButTensors() const {
  std::vector<absl::Status> damage;
  CheckOtherFiles(&damage);
  return damage.empty() ? absl::OkStatus() : damage.front();
}

void CheckpointReader::CheckOtherFiles(
    std::vector<absl::Status>* damage) const {
  std::set<std::string> known = {kManifestName};
  for (uint32_t s = 0; s < manifest_.shards.size(); ++s) {
    known.insert(ShardName(manifest_.shards[s]));
    known.insert(DigestFileName(manifest_.shards[s]));
    const std::string path =
        JoinPath(path_, DigestFileName(manifest_.shards[s]));
    absl::StatusOr<std::string> file =
        ReadSmallFile(file_system_, path,
                      DigestFileSize(manifest_.tensors, s) + kDigestChunkBytes);
    if (!file.ok()) {
      damage->push_back(file.status());
      continue;
    }
    absl::StatusOr<std::vector<Chunks>> chunks =
        DecodeDigestFile(*file, manifest_.tensors, s);
    if (!chunks.ok()) {
      damage->push_back(Annotate(chunks.status(), path));
      continue;
    }
    const std::vector<size_t> order = EntriesOfDigestFile(manifest_.tensors, s);
    for (size_t i = 0; i < order.size(); ++i) {
      const TableEntry& entry = manifest_.tensors[order[i]];
      if (RootDigest(entry.num_bytes(), (*chunks)[i]) != entry.root) {
        damage->push_back(MakeRefusal(
            Refusal::CORRUPT,
            absl::StrCat(path, ": the digests of ", entry.Describe(),
                         " are not those of the manifest")));
      }
    }
  }
  absl::StatusOr<std::vector<FolderEntry>> entries = file_system_->List(path_);
  if (!entries.ok()) {
    damage->push_back(entries.status());
    return;
  }
  for (const FolderEntry& entry : *entries) {
    if (known.count(entry.name) == 0) {
      damage->push_back(MakeRefusal(
          Refusal::CORRUPT, absl::StrCat(JoinPath(path_, entry.name),
                                         ": no file of this checkpoint")));
    }
  }
}

}  // namespace reprise
