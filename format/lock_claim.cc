#include "format/lock_claim.h"

#include <errno.h>
#include <unistd.h>

#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/lock_owner.h"
#include "format/refusal.h"
#include "format/run_layout.h"

namespace reprise {
namespace {

// A longer text is not ours.
constexpr size_t kLongestText = 512;
// How often the claim may change hands under our eyes before we give way.
constexpr int kAttempts = 20;

// A name that no other claim ever had, on any host.
std::string NewName() {
  std::random_device random;
  return absl::StrCat(getpid(), "-", absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8));
}

std::string Printable(absl::string_view text) {
  std::string printable(absl::StripAsciiWhitespace(text));
  for (char& c : printable) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return printable;
}

// Prepares the folder that a rename publishes.
absl::Status Prepare(FileSystem* file_system, const std::string& folder,
                     const std::string& name) {
  absl::Status status = file_system->CreateFolder(folder);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->CreateExclusive(JoinPath(folder, name), 0644);
  if (!file.ok()) return file.status();
  status = WriteAll(file->get(), 0, absl::StrCat(TextOf(ThisProcess()), "\n"));
  // After a crash of the machine, an unsynced claim could be left without the
  // text that shows its holder to be gone.
  if (status.ok()) status = (*file)->SyncData();
  absl::Status closed = (*file)->Close();
  return status.ok() ? closed : status;
}

}  // namespace

absl::Status JudgeHolder(const std::string& path, absl::string_view text,
                         bool take_foreign, std::vector<std::string>* notices) {
  const std::string who =
      text.empty() ? "it has not said which" : Printable(text);
  const std::optional<LockOwner> owner = ParseLockOwner(text);
  const OwnerState state =
      owner.has_value() ? StateOf(*owner) : OwnerState::kElsewhere;
  switch (state) {
    case OwnerState::kGone:
      notices->push_back(
          absl::StrCat("took over the lock of a process that ended without "
                       "releasing it (",
                       who, ")"));
      return absl::OkStatus();
    case OwnerState::kAlive:
      return MakeRefusal(
          Refusal::LOCKED,
          absl::StrCat(path, ": another process holds this run folder (", who,
                       "); stop it first, or use another run folder"));
    case OwnerState::kElsewhere:
      break;
  }
  if (take_foreign) {
    notices->push_back(
        absl::StrCat("took over, because take_foreign_lock is given, the lock "
                     "of a process that cannot be seen from here (",
                     who, ")"));
    return absl::OkStatus();
  }
  return MakeRefusal(
      Refusal::LOCKED,
      absl::StrCat(path,
                   ": a process of another host or container holds this run "
                   "folder (",
                   who,
                   "), and whether it still runs cannot be seen from here; "
                   "make sure that it has ended, then give "
                   "--take_foreign_lock, or use another run folder"));
}

absl::Status LockClaim::Clear(FileSystem* file_system,
                              const std::string& run_folder, bool take_foreign,
                              std::vector<std::string>* notices) {
  const std::string folder = JoinPath(run_folder, kLockClaimName);
  absl::StatusOr<FileInfo> info = file_system->LinkStat(folder);
  if (!info.ok()) {
    return RefusalOf(info.status()) == Refusal::ABSENT ? absl::OkStatus()
                                                       : info.status();
  }
  if (info->kind != FileKind::kFolder) {
    return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                       absl::StrCat(folder,
                                    ": expected a folder, found "
                                    "something else; remove it"));
  }
  absl::StatusOr<std::vector<FolderEntry>> entries = file_system->List(folder);
  if (!entries.ok()) {
    return RefusalOf(entries.status()) == Refusal::ABSENT ? absl::OkStatus()
                                                          : entries.status();
  }
  for (const FolderEntry& entry : *entries) {
    const std::string path = JoinPath(folder, entry.name);
    absl::StatusOr<std::string> text =
        ReadSmallFile(file_system, path, kLongestText);
    // Released since it was listed.
    if (RefusalOf(text.status()) == Refusal::ABSENT) continue;
    std::vector<std::string> taken;
    absl::Status status =
        JudgeHolder(path, text.ok() ? *text : "", take_foreign, &taken);
    if (!status.ok()) return status;
    status = file_system->Unlink(path);
    // Somebody else took the same dead holder's lock over.
    if (RefusalOf(status) == Refusal::ABSENT) continue;
    if (!status.ok()) return status;
    notices->insert(notices->end(), taken.begin(), taken.end());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LockClaim>> LockClaim::Take(
    FileSystem* file_system, const std::string& run_folder, bool take_foreign,
    std::vector<std::string>* notices) {
  const std::string folder = JoinPath(run_folder, kLockClaimName);
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    status = Clear(file_system, run_folder, take_foreign, notices);
    if (!status.ok()) return Annotate(status, "run lock");
    const std::string name = NewName();
    const std::string prepared =
        JoinPath(run_folder, absl::StrCat(kTemporaryPrefix, "lock-", name));
    status = Prepare(file_system, prepared, name);
    if (status.ok()) status = file_system->Rename(prepared, folder);
    // A network file system may report the failure of a rename that it did.
    if (status.ok() || file_system->LinkStat(JoinPath(folder, name)).ok()) {
      return std::unique_ptr<LockClaim>(
          new LockClaim(file_system, folder, name));
    }
    RemoveRecursively(file_system, prepared).IgnoreError();
    // Somebody else came first, or swept what we prepared.
    const int error = ErrnoOf(status);
    if (error != ENOTEMPTY && error != EEXIST && error != ENOENT) {
      return Annotate(status, "run lock");
    }
  }
  return MakeRefusal(Refusal::LOCKED,
                     absl::StrCat(folder,
                                  ": the lock changes hands all the "
                                  "time; last: ",
                                  status.message()));
}

LockClaim::LockClaim(FileSystem* file_system, std::string folder,
                     std::string name)
    : file_system_(file_system),
      folder_(std::move(folder)),
      name_(std::move(name)),
      owner_(getpid()) {}

LockClaim::~LockClaim() {
  if (getpid() != owner_) return;
  file_system_->Unlink(JoinPath(folder_, name_)).IgnoreError();
  // Fails when somebody has claimed it since, as it should.
  file_system_->RemoveFolder(folder_).IgnoreError();
}

}  // namespace reprise
