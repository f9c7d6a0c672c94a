#include "conformance/log_adapter/checkpoint_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "re2/re2.h"

namespace reprise::conformance {
namespace {

// Of a file's beginning and of its end: a checkpoint of gigabytes is not read.
constexpr size_t kDigested = size_t{1} << 20;

// Paths that match, relative to `folder`.
std::vector<std::string> Matches(const std::string& folder,
                                 const std::string& pattern) {
  std::vector<std::string> paths;
  if (pattern.empty()) return paths;
  // The folder's own name may hold characters that a glob takes for its own.
  std::string quoted;
  for (const char c : folder) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') quoted += '\\';
    quoted += c;
  }
  glob_t found = {};
  if (glob(absl::StrCat(quoted, "/", pattern).c_str(), 0, nullptr, &found) ==
      0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      paths.push_back(std::string(found.gl_pathv[i]).substr(folder.size() + 1));
    }
  }
  globfree(&found);
  return paths;
}

// Empty when the file is gone.
std::string StateOf(const std::string& path) {
  struct stat entry;
  if (stat(path.c_str(), &entry) != 0) return "";
  return absl::StrCat(entry.st_ino, " ", entry.st_size, " ",
                      entry.st_mtim.tv_sec, ".", entry.st_mtim.tv_nsec);
}

// Whether one of the processes holds the file open.
bool IsOpen(const std::string& path, const std::vector<pid_t>& processes) {
  struct stat wanted;
  if (stat(path.c_str(), &wanted) != 0) return false;
  for (const pid_t pid : processes) {
    const std::string folder = absl::StrCat("/proc/", pid, "/fd");
    DIR* entries = opendir(folder.c_str());
    if (entries == nullptr) continue;
    bool open = false;
    while (const dirent* entry = readdir(entries)) {
      struct stat one;
      if (stat(absl::StrCat(folder, "/", entry->d_name).c_str(), &one) == 0 &&
          one.st_ino == wanted.st_ino && one.st_dev == wanted.st_dev) {
        open = true;
        break;
      }
    }
    closedir(entries);
    if (open) return true;
  }
  return false;
}

std::string DigestOf(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat entry;
  if (fd < 0 || fstat(fd, &entry) != 0) {
    if (fd >= 0) close(fd);
    return "unreadable";
  }
  std::string bytes = absl::StrCat(entry.st_size, ":");
  const auto add = [&](off_t from) {
    std::string part(kDigested, '\0');
    const ssize_t got = pread(fd, &part[0], part.size(), from);
    if (got > 0) bytes.append(part, 0, got);
  };
  add(0);
  if (entry.st_size > static_cast<off_t>(kDigested)) {
    add(entry.st_size - static_cast<off_t>(kDigested));
  }
  close(fd);
  return absl::StrCat(
      absl::Hex(XXH3_64bits(bytes.data(), bytes.size()), absl::kZeroPad16));
}

}  // namespace

CheckpointWatch::CheckpointWatch(std::string run_folder,
                                 const v1::Checkpoints& checkpoints)
    : run_folder_(std::move(run_folder)), checkpoints_(checkpoints) {
  std::vector<std::pair<std::string, CheckpointFile>> by_time;
  for (const std::string& path : Matches(run_folder_, checkpoints_.files())) {
    const std::string full = absl::StrCat(run_folder_, "/", path);
    files_[path] = {StateOf(full), /*committed=*/true};
    struct stat entry = {};
    stat(full.c_str(), &entry);
    by_time.push_back(
        {absl::StrCat(absl::Dec(entry.st_mtim.tv_sec, absl::kZeroPad16), ".",
                      absl::Dec(entry.st_mtim.tv_nsec, absl::kZeroPad9)),
         Describe(path)});
  }
  std::stable_sort(
      by_time.begin(), by_time.end(), [](const auto& a, const auto& b) {
        if (a.second.step.has_value() && b.second.step.has_value() &&
            a.second.step != b.second.step) {
          return *a.second.step < *b.second.step;
        }
        return a.first < b.first;
      });
  for (auto& [time, file] : by_time) found_.push_back(std::move(file));
  for (const std::string& path : Matches(run_folder_, checkpoints_.begun())) {
    begun_[path] = "";
  }
}

CheckpointFile CheckpointWatch::Describe(const std::string& path) const {
  CheckpointFile file;
  file.path = path;
  file.identity =
      absl::StrCat(path, "#", DigestOf(absl::StrCat(run_folder_, "/", path)));
  if (!checkpoints_.step().empty()) {
    const RE2 regex(checkpoints_.step());
    const auto& groups = regex.NamedCapturingGroups();
    const auto step = groups.find("step");
    std::vector<re2::StringPiece> parts(regex.NumberOfCapturingGroups() + 1);
    uint64_t number;
    if (step != groups.end() &&
        regex.Match(path, 0, path.size(), RE2::UNANCHORED, parts.data(),
                    parts.size()) &&
        absl::SimpleAtoi(absl::string_view(parts[step->second].data(),
                                           parts[step->second].size()),
                         &number)) {
      file.step = number;
    }
  }
  return file;
}

CheckpointWatch::News CheckpointWatch::Look(
    const std::vector<pid_t>& processes) {
  News news;
  for (const std::string& path : Matches(run_folder_, checkpoints_.begun())) {
    if (begun_.emplace(path, "").second) news.begun.push_back(Describe(path));
  }
  // Gone ones may come back under the same name.
  for (auto one = begun_.begin(); one != begun_.end();) {
    const std::string full = absl::StrCat(run_folder_, "/", one->first);
    one = StateOf(full).empty() ? begun_.erase(one) : std::next(one);
  }
  for (const std::string& path : Matches(run_folder_, checkpoints_.files())) {
    const std::string full = absl::StrCat(run_folder_, "/", path);
    const std::string state = StateOf(full);
    if (state.empty()) continue;
    Seen& seen = files_[path];
    if (seen.state != state) {
      seen.state = state;
      seen.committed = false;
      news.begun.push_back(Describe(path));
    } else if (!seen.committed && !IsOpen(full, processes) &&
               StateOf(full) == state) {
      seen.committed = true;
      if (checkpoints_.commit_when_closed()) {
        news.committed.push_back(Describe(path));
      }
    }
  }
  for (auto one = files_.begin(); one != files_.end();) {
    const std::string full = absl::StrCat(run_folder_, "/", one->first);
    one = StateOf(full).empty() ? files_.erase(one) : std::next(one);
  }
  return news;
}

}  // namespace reprise::conformance
