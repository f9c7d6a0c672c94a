// Reads and verifies a version 2 checkpoint folder.
//
// Example (a test as well):
//
//   auto reader = reprise::CheckpointReader::Open("run/step-000000000060");
//   if (!reader.ok()) return reader.status();
//   absl::StatusOr<reprise::Snapshot> snapshot = (*reader)->ReadAll({});
//
// Open reads the manifest and opens every shard; the files stay open, so that a
// prune cannot take them away from a reader. ReadAll digests while it reads
// into final memory and hands out nothing before all of it verifies.
//
// Thread-safe after Open.
#ifndef REPRISE_FORMAT_V2_CHECKPOINT_READER_H_
#define REPRISE_FORMAT_V2_CHECKPOINT_READER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/manifest_file.h"
#include "format/snapshot.h"
#include "format/v2/codec.h"
#include "format/v2/digest_file.h"

namespace reprise {

struct ReadV2Options {
  // Threads that read and digest, at least 1.
  int threads = 2;
  // Where tensors go: at least `bytes` bytes, null when there is no memory. The
  // default is host memory aligned to 64 bytes. Must be thread-safe.
  std::function<std::shared_ptr<void>(uint64_t bytes)> allocate;
  // Where ReadAll puts how many of its seconds went into digests: all of them
  // in the proportion in which its threads digested and read. Null: nowhere.
  double* verify_seconds = nullptr;
};

class CheckpointReader {
 public:
  // Errors: ABSENT, NOT_A_CHECKPOINT (a link, a pipe), TOO_NEW,
  // UNKNOWN_FEATURE, TRUNCATED or CORRUPT (a shard is missing or has another
  // size than the manifest says), LIMIT, MISSING_ITEM, INVALID_VALUE; CORRUPT
  // for a checkpoint of another major version than 2.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(
      const std::string& path, FileSystem* file_system = FileSystem::Real());

  // The same for a manifest that was read already.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> OpenShards(
      const std::string& path, ManifestFile manifest, FileSystem* file_system);

  const ManifestV2& manifest() const { return manifest_; }
  const std::string& manifest_digest() const { return manifest_digest_; }

  // The whole snapshot. Tensors that are one storage share one array. Errors:
  // CORRUPT naming the tensor, file and range of bytes; TRUNCATED; IO.
  absl::StatusOr<Snapshot> ReadAll(const ReadV2Options& options) const;

  // The same without a copy in memory: every byte is verified (by reading, not
  // through the mapping), then tensors are views of the mapped shards, which
  // live as long as a tensor does. They are only read: writing to one ends the
  // process, and so does reading one after somebody has cut the file. Tensors
  // that are in slices are copied. Errors: also IO (EOPNOTSUPP) where files
  // cannot be mapped.
  absl::StatusOr<Snapshot> View(const ReadV2Options& options) const;

  // One tensor (an index of manifest().tensors), verified.
  absl::StatusOr<Tensor> ReadTensor(size_t index,
                                    const ReadV2Options& options) const;

  // Checks every byte of the folder, digest files too, and that nothing else is
  // in it.
  absl::Status Verify(int threads) const;

  // The same; returns all that is wrong, as format/read_checkpoint.h says.
  // Memory: 8 MiB for each thread, and one tensor that is in slices.
  std::vector<absl::Status> FindDamage(
      int threads,
      const std::function<void(uint64_t done, uint64_t total)>& progress) const;

  // What Verify checks beside the shards' bytes: digest files against the
  // manifest, and that nothing else is in the folder.
  absl::Status VerifyAllButTensors() const;

 private:
  struct Job;
  CheckpointReader() = default;

  absl::Status ReadPiece(const struct Piece& piece, Job* job) const;
  absl::Status ReadLarge(const struct Piece& piece, Job* job) const;
  absl::Status ReadSlices(size_t index, Job* job) const;
  absl::Status ReadBytes(Job* job, int threads) const;
  absl::Status ReadAndCheck(Job* job, int threads) const;
  std::vector<absl::Status> CheckRoots(const Job& job) const;
  // `tensor` makes the tensor of an entry.
  absl::StatusOr<Snapshot> Assemble(
      const std::function<Tensor(size_t index)>& tensor) const;
  Tensor TensorAt(size_t index, std::shared_ptr<const void> owner,
                  const void* data) const;
  absl::Status LocateDamage(size_t index, const Chunks& found) const;
  void CheckOtherFiles(std::vector<absl::Status>* damage) const;

  std::string path_;
  FileSystem* file_system_ = nullptr;
  std::string manifest_digest_;
  ManifestV2 manifest_;
  std::vector<std::unique_ptr<File>> shards_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_CHECKPOINT_READER_H_
