// The examples that open the public headers, compiled and run.
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/io/file_system.h"
#include "format/io/io_error.h"
#include "format/non_finite.h"
#include "format/refusal.h"
#include "format/snapshot.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"
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
