#include "trainer/testee/holding_file_system.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace reprise {
namespace {

namespace v1 = conformance::v1;

// What the store's operations are recognised by (format/run_layout.h).
constexpr absl::string_view kManifest = "/manifest.ckpt";
constexpr absl::string_view kShard = ".bin";
constexpr absl::string_view kTemporaryStep = "/.tmp-step-";
constexpr absl::string_view kTrash = "/.trash-";
constexpr absl::string_view kStep = "/step-";
constexpr absl::string_view kLatest = "/latest";

}  // namespace

HoldingFileSystem::HoldingFileSystem(FileSystem* target,
                                     std::function<void(v1::Point)> reached)
    : ForwardingFileSystem(target), reached_(std::move(reached)) {}

absl::Status HoldingFileSystem::Before(const Operation& op) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::StrContains(op.path, kTemporaryStep) &&
      absl::EndsWith(op.path, kShard)) {
    BeforeShard(op);
  } else if (op.name == "RenameNoReplace" &&
             absl::StrContains(op.path, kTemporaryStep)) {
    reached_(v1::S4);
    renamed_ = true;
  } else if (op.name == "SyncFolder" && renamed_) {
    reached_(v1::S5);
    renamed_ = false;
  } else if (op.name == "Rename" && absl::EndsWith(op.to, kLatest)) {
    reached_(v1::S6);
    switched_ = true;
  } else if (op.name == "SyncFolder" && switched_) {
    reached_(v1::S7);
    switched_ = false;
  } else if (op.name == "Unlink" && absl::StrContains(op.path, kTrash)) {
    reached_(v1::S8);
  } else if (op.name == "ReadAt" && absl::StrContains(op.path, kStep) &&
             absl::EndsWith(op.path, kManifest)) {
    reached_(v1::LOAD);
  }
  return absl::OkStatus();
}

void HoldingFileSystem::BeforeShard(const Operation& op) {
  if (op.name == "CreateExclusive") {
    opened_ = true;
    halved_ = cut_ = false;
  } else if (op.name == "WriteAt") {
    if (opened_) reached_(v1::S1);
    if (halved_) reached_(v1::S2);
    opened_ = halved_ = false;
    // The first write is cut in two: the store goes on with the other half,
    // before which tensor bytes are there and others are not.
    if (op.size > 1 && !cut_) {
      *op.allowed = op.size / 2;
      halved_ = cut_ = true;
    }
  } else if (op.name == "SyncData") {
    reached_(v1::S3);
  }
}

}  // namespace reprise
