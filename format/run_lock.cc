#include "format/run_lock.h"

#include <errno.h>
#include <unistd.h>

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
// How often to look again when the file is being replaced under our hands.
constexpr int kAttempts = 3;
// How often to write our text again when others erase it.
constexpr int kRounds = 20;

// What the file says; unreadable is as good as empty.
std::string TextOfHolder(File* file) {
  std::string text(kLongestText, '\0');
  absl::StatusOr<size_t> got = file->ReadAt(0, &text[0], text.size());
  text.resize(got.ok() ? *got : 0);
  absl::StripAsciiWhitespace(&text);
  for (char& c : text) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return text;
}

// Whether `path` still names the locked file; a person may have deleted it,
// and a lock on a deleted file protects nothing.
bool StillNamed(FileSystem* file_system, const std::string& path, File* file) {
  absl::StatusOr<FileInfo> ours = file->Stat();
  absl::StatusOr<FileInfo> named = file_system->LinkStat(path);
  return ours.ok() && named.ok() && ours->device == named->device &&
         ours->inode == named->inode;
}

// Whether `status` of TryLock says that there is no such lock here.
bool HasNoFlock(const absl::Status& status) {
  switch (ErrnoOf(status)) {
    case ENOTSUP:
#if EOPNOTSUPP != ENOTSUP
    case EOPNOTSUPP:
#endif
    case ENOSYS:
    case ENOLCK:  // a network file system without its lock service
    case EINVAL:
      return true;
    default:
      return false;
  }
}

absl::Status WriteHolder(File* file, absl::string_view holder) {
  absl::Status status = file->Truncate(0);
  return status.ok() ? WriteAll(file, 0, absl::StrCat(holder, "\n")) : status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunLock>> RunLock::Take(
    FileSystem* file_system, const std::string& run_folder, bool take_foreign) {
  const std::string path = JoinPath(run_folder, kLockName);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::unique_ptr<RunLock> lock(new RunLock);
    absl::StatusOr<std::unique_ptr<File>> file =
        file_system->OpenOrCreate(path);
    if (!file.ok()) return Annotate(file.status(), "run lock");
    absl::StatusOr<bool> locked = (*file)->TryLock();
    const bool has_flock = locked.ok() || !HasNoFlock(locked.status());
    if (has_flock && !locked.ok()) return Annotate(locked.status(), "run lock");
    const std::string text = TextOfHolder(file->get());
    if (has_flock && !*locked) {
      return MakeRefusal(
          Refusal::LOCKED,
          absl::StrCat(path, ": another process holds this run folder (",
                       text.empty() ? "it has not said which" : text,
                       "); stop it first, or use another run folder"));
    }
    if (!StillNamed(file_system, path, file->get())) continue;
    lock->taken_over_from_ = text;
    std::vector<std::string>* const notices = &lock->notices_;
    if (has_flock) {
      // Somebody for whom flock does not work may hold the lock by a claim. It
      // looks at our text after claiming, we look again after writing the
      // text: of two that come at once, one sees the other. A holder that came
      // and went in between has erased our text, and the next one would not
      // see us: then it is written again.
      const std::string holder = TextOf(ThisProcess());
      absl::Status free =
          LockClaim::Clear(file_system, run_folder, take_foreign, notices);
      bool seen = false;
      for (int round = 0; free.ok() && !seen && round < kRounds; ++round) {
        if (round == 0) {
          lock->taker_ = getpid();
          lock->file_ = *std::move(file);
        }
        // The lock is held whether or not its text can be written.
        const bool written = WriteHolder(lock->file_.get(), holder).ok();
        free = LockClaim::Clear(file_system, run_folder, take_foreign, notices);
        seen = !written || TextOfHolder(lock->file_.get()) == holder;
      }
      if (free.ok() && !seen) {
        free = MakeRefusal(
            Refusal::LOCKED,
            absl::StrCat(path, ": the lock changes hands all the time"));
      }
      if (!free.ok()) return Annotate(free, "run lock");
      if (notices->empty() && !text.empty()) {
        notices->push_back(
            absl::StrCat("took over the lock of a process that ended without "
                         "releasing it (",
                         text, ")"));
      }
      return lock;
    }
    absl::StatusOr<std::unique_ptr<LockClaim>> claim =
        LockClaim::Take(file_system, run_folder, take_foreign, notices);
    if (!claim.ok()) return claim.status();
    lock->claim_ = *std::move(claim);
    // A holder by flock has no claim, only its text. Words that are not a
    // holder's facts are a message and keep nobody out.
    const std::string now = TextOfHolder(file->get());
    if (ParseLockOwner(now).has_value()) {
      std::vector<std::string> taken;
      absl::Status free = JudgeHolder(path, now, take_foreign, &taken);
      if (!free.ok()) return Annotate(free, "run lock");
      // The claim that was taken over said the same.
      if (notices->empty()) *notices = taken;
    }
    lock->taker_ = getpid();
    // The claim holds the lock, the text is for people.
    WriteHolder(file->get(), TextOf(ThisProcess())).IgnoreError();
    lock->file_ = *std::move(file);
    notices->push_back(absl::StrCat(
        "flock does not work in this run folder (", locked.status().message(),
        "): holding it by ", kLockClaimName,
        "; a process of another host is kept out until it is told "
        "--take_foreign_lock"));
    return lock;
  }
  return MakeRefusal(Refusal::LOCKED,
                     absl::StrCat(path,
                                  ": the file is being replaced; it must "
                                  "never be deleted"));
}

RunLock::~RunLock() {
  if (file_ == nullptr) return;
  // An empty text says that the holder went in order. It goes before the claim
  // does, so that it never belongs to a holder that follows.
  if (claim_ == nullptr || getpid() == taker_) file_->Truncate(0).IgnoreError();
  file_->Close().IgnoreError();
}

}  // namespace reprise
