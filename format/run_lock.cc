#include "format/run_lock.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/run_layout.h"

namespace reprise {
namespace {

// A longer text is not ours.
constexpr size_t kLongestText = 512;
// How often to look again when the file is being replaced under our hands.
constexpr int kAttempts = 3;

std::string HolderText() {
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return absl::StrCat(
      "pid ", getpid(), " on ", host, " since ",
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()),
      "\n");
}

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

}  // namespace

absl::StatusOr<std::unique_ptr<RunLock>> RunLock::Take(
    FileSystem* file_system, const std::string& run_folder) {
  const std::string path = JoinPath(run_folder, kLockName);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    absl::StatusOr<std::unique_ptr<File>> file =
        file_system->OpenOrCreate(path);
    if (!file.ok()) return Annotate(file.status(), "run lock");
    absl::StatusOr<bool> locked = (*file)->TryLock();
    if (!locked.ok()) {
      return Annotate(locked.status(),
                      "run lock (the file system of the run folder must "
                      "support flock)");
    }
    const std::string text = TextOfHolder(file->get());
    if (!*locked) {
      return MakeRefusal(
          Refusal::LOCKED,
          absl::StrCat(path, ": another process holds this run folder (",
                       text.empty() ? "it has not said which" : text,
                       "); stop it first, or use another run folder"));
    }
    if (!StillNamed(file_system, path, file->get())) continue;
    // The lock is held whether or not its text can be written.
    const std::string holder = HolderText();
    if ((*file)->Truncate(0).ok()) {
      WriteAll(file->get(), 0, holder).IgnoreError();
    }
    return std::unique_ptr<RunLock>(new RunLock(*std::move(file), text));
  }
  return MakeRefusal(Refusal::LOCKED,
                     absl::StrCat(path,
                                  ": the file is being replaced; it must "
                                  "never be deleted"));
}

RunLock::RunLock(std::unique_ptr<File> file, std::string taken_over_from)
    : file_(std::move(file)), taken_over_from_(std::move(taken_over_from)) {}

RunLock::~RunLock() {
  // An empty text says that the holder went in order.
  file_->Truncate(0).IgnoreError();
  file_->Close().IgnoreError();
}

}  // namespace reprise
