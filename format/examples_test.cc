// The examples that open the public headers, compiled and run.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "format/accepted_missing.h"
#include "format/checkpoint_store.h"
#include "format/diff.h"
#include "format/digest/chunk_digest.h"
#include "format/dtype.h"
#include "format/envelope.h"
#include "format/field_values.h"
#include "format/inventory.h"
#include "format/io/file_system.h"
#include "format/io/io_error.h"
#include "format/non_finite.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/retention.h"
#include "format/run_listing.h"
#include "format/snapshot.h"
#include "format/tensor.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v1/codec.h"
#include "format/v2/checkpoint_reader.h"
#include "format/v2/share_files.h"
#include "format/v2/shared_save.h"
#include "format/vocabulary.h"
#include "gtest/gtest.h"

namespace {

TEST(Examples, Vocabulary) {
  std::string text = reprise::TextOf(reprise::Item::SCALER_GROWTH_TRACKER);
  EXPECT_EQ(text, "scaler.growth_tracker");
  std::optional<reprise::Item> item =
      reprise::ParseText<reprise::Item>("scaler.growth_tracker");
  EXPECT_EQ(item, reprise::Item::SCALER_GROWTH_TRACKER);
}

TEST(Examples, Refusal) {
  absl::Status status = reprise::MakeRefusal(reprise::Refusal::TRUNCATED,
                                             "expected 4096 bytes, found 17");
  status = reprise::Annotate(status, "run/step-000000000060/manifest.ckpt");
  EXPECT_EQ(reprise::RefusalOf(status), reprise::Refusal::TRUNCATED);
  EXPECT_EQ(reprise::ExitCodeFor(status),
            reprise::ExitCode::EXIT_CHECKPOINT_REJECTED);
}

TEST(Examples, IoError) {
  absl::Status status = reprise::IoError(ENOSPC, "write", "run/x");
  EXPECT_EQ(reprise::ErrnoOf(status), ENOSPC);
  EXPECT_EQ(reprise::RefusalOf(status), reprise::Refusal::IO);
}

TEST(Examples, Snapshot) {
  std::vector<float> weights(10 * 784);
  reprise::Snapshot snapshot;
  snapshot.step = 60;
  snapshot.parameters.push_back(reprise::Tensor::View(
      "fc.weight", reprise::DType::kF32, {10, 784}, weights.data()));
  snapshot.MarkSaved(reprise::Item::MODEL_PARAMS);
  EXPECT_EQ(snapshot.parameters[0].num_bytes(), 4 * weights.size());
  EXPECT_EQ(snapshot.Find(reprise::Item::MODEL_PARAMS)->as_of_step, 60u);
}

absl::Status WriteOneFile(const std::string& path) {
  using namespace reprise;  // NOLINT(build/namespaces): as in the header
  FileSystem* files = FileSystem::Real();
  auto file = files->CreateExclusive(path, 0444);
  if (!file.ok()) return file.status();
  absl::Status status = WriteAll(file->get(), 0, "bytes");
  if (status.ok()) status = (*file)->SyncData();
  if (status.ok()) status = (*file)->Close();
  return status;
}

TEST(Examples, FileSystem) {
  const std::string path =
      reprise::JoinPath(reprise::FreshTestFolder(), ".tmp-1");
  absl::Status status = WriteOneFile(path);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(*reprise::FileContent(path), "bytes");
}

absl::Status OpenOneEnvelope(const std::string& manifest) {
  std::string file = reprise::EncodeEnvelope(1, 0, manifest);
  file += manifest;
  auto opened = reprise::OpenEnvelope(file, file.size());
  if (!opened.ok()) return opened.status();
  absl::Status intact = reprise::CheckManifest(*opened, manifest);
  return intact;
}

TEST(Examples, Envelope) { EXPECT_TRUE(OpenOneEnvelope("manifest").ok()); }

absl::Status EncodeAndDecode(const reprise::Snapshot& snapshot) {
  absl::StatusOr<std::string> manifest = reprise::EncodeV1(snapshot);
  if (!manifest.ok()) return manifest.status();
  absl::StatusOr<reprise::Snapshot> again = reprise::DecodeV1(*manifest);
  if (!again.ok()) return again.status();
  EXPECT_TRUE(reprise::NonFiniteTensors(*again).empty());
  return absl::OkStatus();
}

TEST(Examples, Codec) {
  absl::Status status = EncodeAndDecode(reprise::SmallSnapshot(60));
  EXPECT_TRUE(status.ok()) << status;
}

absl::Status TrainOnce(const std::string& run,
                       const reprise::Snapshot& snapshot) {
  // Takes the lock.
  auto store = reprise::CheckpointStore::Open(run, {});
  if (!store.ok()) return store.status();
  auto found = (*store)->NewestVerified();
  if (!found.ok()) return found.status();
  auto attempt = (*store)->NextAttempt(found->checkpoint);
  if (!attempt.ok()) return attempt.status();
  if (found->checkpoint.has_value()) {
    // Abandons what lies beyond.
    auto moved = (*store)->ResumeFrom(*found->checkpoint, *attempt);
    if (!moved.ok()) return moved.status();
  }
  auto digest = (*store)->Save(snapshot);
  if (!digest.ok()) return digest.status();
  auto removed = (*store)->Prune();
  return removed.status();
}

TEST(Examples, CheckpointStore) {
  const std::string run = reprise::FreshTestFolder();
  for (uint64_t step : {60, 70, 80, 90}) {
    absl::Status status = TrainOnce(run, reprise::SmallSnapshot(step));
    EXPECT_TRUE(status.ok()) << status;
  }
  auto store = reprise::CheckpointStore::Open(run, {});
  EXPECT_EQ(*(*store)->List(), (std::vector<uint64_t>{70, 80, 90}));
}

absl::Status TrainBehind(const std::string& run,
                         const reprise::Snapshot& snapshot) {
  auto store = reprise::CheckpointStore::Open(run, {});
  if (!store.ok()) return store.status();
  reprise::AsyncSaveOptions behind;
  behind.prune = true;
  auto started = (*store)->SaveAsync(snapshot, behind);  // copies
  if (!started.ok()) return started.status();
  for (const reprise::CommittedSave& save : (*store)->TakeCommitted()) {
    std::cout << "committed " << save.name << "\n";
  }
  absl::Status status = (*store)->Close();  // late errors surface here
  return status;
}

TEST(Examples, CheckpointStoreBehind) {
  const std::string run = reprise::FreshTestFolder();
  absl::Status status = TrainBehind(run, reprise::SmallSnapshot(60));
  EXPECT_TRUE(status.ok()) << status;
  auto store = reprise::CheckpointStore::Open(run, {});
  EXPECT_EQ(*(*store)->List(), (std::vector<uint64_t>{60}));
}

absl::Status LookAt(const std::string& run) {
  reprise::RetentionPolicy policy;
  policy.keep_last = 2;
  policy.keep_every = 1000;
  auto plan = reprise::PlanRetention(run, policy);
  if (!plan.ok()) return plan.status();
  for (const reprise::RetentionDecision& decision : *plan) {
    std::cout << decision.name << ": " << (decision.keep ? "keep" : "remove")
              << ", " << decision.reason << "\n";
  }
  EXPECT_EQ(plan->size(), 3u);
  auto listing = reprise::ListRun(run);
  if (!listing.ok()) return listing.status();
  for (const reprise::ListedCheckpoint& checkpoint : listing->checkpoints) {
    std::cout << checkpoint.name << " " << checkpoint.bytes << "\n";
  }
  EXPECT_EQ(listing->checkpoints.size(), 3u);
  auto checkpoint = reprise::ReadCheckpoint(
      reprise::JoinPath(run, listing->checkpoints[0].name));
  if (!checkpoint.ok()) return checkpoint.status();
  for (const reprise::FieldValue& value :
       reprise::FieldsOf(checkpoint->snapshot)) {
    std::cout << reprise::TextOf(value.item) << " " << value.path << " = "
              << value.text << "\n";
  }
  return absl::OkStatus();
}

TEST(Examples, LookingAtARun) {
  const std::string run = reprise::FreshTestFolder();
  for (uint64_t step : {60, 70, 80}) {
    ASSERT_TRUE(TrainOnce(run, reprise::SmallSnapshot(step)).ok());
  }
  absl::Status status = LookAt(run);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Examples, DType) {
  EXPECT_EQ(reprise::SizeOf(reprise::DType::kBF16), 2u);
  EXPECT_EQ(reprise::Name(reprise::DType::kBF16), "bf16");
}

TEST(Examples, Tensor) {
  std::vector<float> weights(6);
  auto tensor = reprise::Tensor::View("fc.weight", reprise::DType::kF32, {2, 3},
                                      weights.data());
  auto transposed =
      reprise::Tensor::Strided("fc.weight_t", reprise::DType::kF32, {3, 2},
                               {1, 3}, nullptr, weights.data());
  EXPECT_TRUE(tensor.IsRowMajor());
  EXPECT_EQ(transposed.DimensionOrder(), (std::vector<uint32_t>{1, 0}));
}

TEST(Examples, ChunkDigest) {
  const std::string bytes(100'000, 'x');
  std::vector<uint64_t> chunks = reprise::ChunkDigests(bytes);
  std::string root = reprise::RootDigest(bytes.size(), chunks);
  EXPECT_EQ(root.size(), reprise::kRootDigestBytes);
}

TEST(Examples, Inventory) {
  reprise::Snapshot snapshot = reprise::FullSnapshot(60);
  snapshot.MarkOmitted(reprise::Item::WITNESS, "not computed");
  for (const reprise::LackingItem& lacking :
       reprise::LackingFor(snapshot, reprise::ResumeLevel::BITWISE)) {
    std::cout << reprise::TextOf(lacking.item) << ": "
              << reprise::TextOf(lacking.presence) << ", " << lacking.reason
              << "\n";
  }
  // The user named what may be missing:
  absl::Status status = reprise::RequireFor(
      snapshot, reprise::ResumeLevel::BITWISE, {reprise::Item::WITNESS});
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Examples, AcceptedMissing) {
  std::vector<reprise::MigrationRecord> history;
  const std::vector<reprise::Item> items = {reprise::Item::MODE};
  const std::string parent_manifest_digest(16, 'x');
  std::ostringstream out;
  history.push_back(reprise::AcceptedMissingRecord(items, /*step=*/7,
                                                   parent_manifest_digest));
  for (const reprise::AcceptedMissing& once :
       reprise::AcceptedMissingIn(history)) {
    out << "at step " << once.step << ": " << absl::StrJoin(once.items, " ")
        << "\n";
  }
  EXPECT_EQ(out.str(), "at step 7: mode\n");
}

TEST(Examples, Diff) {
  const reprise::Snapshot before = reprise::FullSnapshot(60);
  const reprise::Snapshot after = reprise::FullSnapshot(70);
  int lines = 0;
  reprise::SnapshotDiff diff = reprise::Diff(before, after);
  for (const reprise::FieldDiff& field : diff.fields) {
    std::cout << reprise::TextOf(field.item) << " " << field.path << ": "
              << field.a << " -> " << field.b << "\n";
    ++lines;
  }
  for (const reprise::TensorDiff& tensor : diff.tensors) {
    std::cout << reprise::Describe(tensor) << "\n";
    ++lines;
  }
  EXPECT_GT(lines, 10);
}

absl::Status ReadOne(const std::string& path) {
  auto reader = reprise::CheckpointReader::Open(path);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<reprise::Snapshot> snapshot = (*reader)->ReadAll({});
  return snapshot.status();
}

TEST(Examples, CheckpointReader) {
  const std::string run = reprise::FreshTestFolder();
  reprise::CheckpointStore::Options options;
  options.format_major = 2;
  auto store = reprise::CheckpointStore::Open(run, options);
  ASSERT_TRUE((*store)->Save(reprise::FullSnapshot(60)).ok());
  const std::string checkpoint = reprise::JoinPath(run, "step-000000000060");
  absl::Status status = ReadOne(checkpoint);
  EXPECT_TRUE(status.ok()) << status;
  // As in format/testing/full_snapshot.h.
  status = reprise::RewriteManifestV2(
      checkpoint, [](reprise::checkpoint::v2::Manifest* message) {
        message->mutable_scaler()->clear_growth_tracker();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(reprise::RefusalOf(ReadOne(checkpoint)),
            reprise::Refusal::MISSING_ITEM);
}

absl::Status ShareShards(const std::string& from, const std::string& to) {
  auto shared = reprise::ShareFiles(reprise::FileSystem::Real(), from, to, {});
  if (!shared.ok()) return shared.status();
  std::cout << shared->notice << "\n";
  return absl::OkStatus();
}

TEST(Examples, ShareFiles) {
  const std::string run = reprise::FreshTestFolder();
  reprise::CheckpointStore::Options options;
  options.format_major = 2;
  auto store = reprise::CheckpointStore::Open(run, options);
  ASSERT_TRUE((*store)->Save(reprise::FullSnapshot(60)).ok());
  const std::string checkpoint = reprise::JoinPath(run, "step-000000000060");
  const std::string branch = reprise::JoinPath(run, "branch");
  auto* files = reprise::FileSystem::Real();
  ASSERT_TRUE(files->CreateFolder(branch).ok());
  const absl::Status status = ShareShards(checkpoint, branch);
  ASSERT_TRUE(status.ok()) << status;
  // Everything but the manifest.
  EXPECT_EQ(files->List(branch)->size(), files->List(checkpoint)->size() - 1);
}

TEST(Examples, SharedSave) {
  const std::string run = reprise::FreshTestFolder();
  auto store = reprise::CheckpointStore::Open(run, {});
  auto* files = reprise::FileSystem::Real();
  reprise::Snapshot snapshot = reprise::SmallestSnapshotV2();
  reprise::LocalSlice slice{reprise::Item::MODEL_PARAMS, "w", "", {}, {},
                            snapshot.parameters[0]};
  snapshot.parameters[0] =
      reprise::Tensor::Elsewhere("w", reprise::DType::kF32, {2}, {});
  auto folder = (*store)->BeginShared(snapshot.step, 0);
  ASSERT_TRUE(folder.ok()) << folder.status();
  auto report = reprise::WriteSlices(files, *folder, 0, {slice}, {});
  ASSERT_TRUE(report.ok()) << report.status();
  auto digest = (*store)->CommitShared(snapshot, {*report});
  EXPECT_TRUE(digest.ok()) << digest.status();
}

TEST(Examples, CheckpointBuilder) {
  const std::string run = reprise::FreshTestFolder();
  reprise::Snapshot snapshot = reprise::SmallSnapshot(60);
  snapshot.scaler->scale = 1024;
  ASSERT_TRUE(TrainOnce(run, snapshot).ok());
  const std::string checkpoint = reprise::JoinPath(run, "step-000000000060");
  absl::Status status = reprise::RewriteManifest(
      checkpoint, [](reprise::checkpoint::v1::Checkpoint* message) {
        EXPECT_EQ(message->scaler().scale(), 1024);
        message->mutable_schedule()->clear_position();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(reprise::RefusalOf(reprise::ReadCheckpoint(checkpoint).status()),
            reprise::Refusal::MISSING_ITEM);
}

}  // namespace
