#include "conformance/runner/case_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot make the folder ", path, ": ", error.message()));
}

// Gives `to` the times of `from`: some trainers choose by them.
void CopyTimes(const fs::path& from, const fs::path& to) {
  struct stat entry;
  if (lstat(from.c_str(), &entry) != 0) return;
  const timespec times[2] = {entry.st_atim, entry.st_mtim};
  utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

absl::Status CopyTree(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    const fs::path target = to / entry.path().filename();
    const fs::file_status status = entry.symlink_status(error);
    if (error) break;
    if (fs::is_directory(status)) {
      fs::create_directory(target, entry.path(), error);
      if (error) break;
      absl::Status below = CopyTree(entry.path(), target);
      if (!below.ok()) return below;
    } else if (fs::is_symlink(status)) {
      fs::copy_symlink(entry.path(), target, error);
    } else if (fs::is_regular_file(status)) {
      fs::copy_file(entry.path(), target, error);
    }
    // Sockets and pipes hold no state of a dead process.
    if (error) break;
    CopyTimes(entry.path(), target);
  }
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot copy ", from.string(), " to ",
                                          to.string(), ": ", error.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CasePlace>> CasePlace::Make(
    const std::string& root, const std::string& watched) {
  if (fs::exists(fs::symlink_status(root))) {
    return absl::InternalError(absl::StrCat(root, " exists already"));
  }
  absl::Status status = MakeFolder(root + "/canary/folder");
  if (!status.ok()) return status;
  std::ofstream(root + "/canary/file") << "This is not yours.\n";
  std::ofstream(root + "/canary/folder/file") << "Nor is this.\n";
  return std::unique_ptr<CasePlace>(new CasePlace(root, watched));
}

absl::Status CasePlace::Prepare(int number, bool move,
                                std::vector<std::string> watched_except) {
  const std::string next = absl::StrCat(root_, "/place-", number, "/run");
  if (run_folder_.empty()) {
    if (absl::Status made = MakeFolder(next); !made.ok()) return made;
    run_folder_ = next;
  } else if (move && run_folder_ != next) {
    if (absl::Status made = MakeFolder(fs::path(next).parent_path());
        !made.ok()) {
      return made;
    }
    if (rename(run_folder_.c_str(), next.c_str()) != 0) {
      return absl::InternalError(
          absl::StrCat("cannot move the run folder from ", run_folder_, " to ",
                       next, ": ", strerror(errno)));
    }
    run_folder_ = next;
  }
  attempt_ = absl::StrCat(root_, "/attempt-", number);
  for (const std::string& path : {home(), temporary(), working_folder()}) {
    if (absl::Status made = MakeFolder(path); !made.ok()) return made;
  }
  watched_except_ = std::move(watched_except);
  outside_before_ = TakeOutside();
  watched_before_ = TakeWatched();
  stray_before_ = FolderSnapshot::Take(attempt_);
  return absl::OkStatus();
}

absl::Status CasePlace::CopyRunFolderFrom(const CasePlace& other) {
  run_folder_ = root_ + "/place-copy/run";
  if (absl::Status made = MakeFolder(run_folder_); !made.ok()) return made;
  return CopyTree(other.run_folder_, run_folder_);
}

FolderSnapshot CasePlace::TakeOutside() const {
  return FolderSnapshot::Take(root_, {run_folder_.substr(root_.size() + 1),
                                      attempt_.substr(root_.size() + 1)});
}

FolderSnapshot CasePlace::TakeWatched() const {
  if (watched_.empty()) return FolderSnapshot();
  return FolderSnapshot::Take(watched_, watched_except_);
}

CasePlace::Changes CasePlace::WhatChanged() const {
  Changes changes;
  changes.stray = stray_before_.ChangesTo(FolderSnapshot::Take(attempt_));
  changes.outside = outside_before_.ChangesTo(TakeOutside());
  for (std::string& change : watched_before_.ChangesTo(TakeWatched())) {
    changes.outside.push_back(std::move(change) + " (of the records)");
  }
  return changes;
}

void CasePlace::Remove() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

}  // namespace reprise::conformance
