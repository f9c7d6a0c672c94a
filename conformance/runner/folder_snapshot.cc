#include "conformance/runner/folder_snapshot.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {
namespace {

constexpr size_t kMaxEntries = 100000;

std::string StateOf(const struct stat& entry) {
  if (S_ISDIR(entry.st_mode)) return absl::StrCat("folder ", entry.st_mode);
  return absl::StrCat(entry.st_mode, " ", entry.st_size, " ", entry.st_ino, " ",
                      entry.st_mtim.tv_sec, ".", entry.st_mtim.tv_nsec, " ",
                      entry.st_ctim.tv_sec, ".", entry.st_ctim.tv_nsec);
}

void Walk(const std::string& root, const std::string& relative,
          const std::vector<std::string>& without,
          std::map<std::string, std::string>* entries) {
  const std::string path =
      relative.empty() ? root : absl::StrCat(root, "/", relative);
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || entries->size() >= kMaxEntries) continue;
    const std::string below =
        relative.empty() ? name : absl::StrCat(relative, "/", name);
    if (std::find(without.begin(), without.end(), below) != without.end()) {
      continue;
    }
    struct stat state;
    if (lstat(absl::StrCat(root, "/", below).c_str(), &state) != 0) continue;
    (*entries)[below] = StateOf(state);
    if (S_ISDIR(state.st_mode)) Walk(root, below, without, entries);
  }
  closedir(folder);
}

}  // namespace

FolderSnapshot FolderSnapshot::Take(const std::string& root,
                                    const std::vector<std::string>& without) {
  FolderSnapshot snapshot;
  Walk(root, "", without, &snapshot.entries_);
  return snapshot;
}

std::vector<std::string> FolderSnapshot::ChangesTo(const FolderSnapshot& later,
                                                   size_t limit) const {
  std::map<std::string, std::string> changes;
  for (const auto& [path, state] : entries_) {
    const auto found = later.entries_.find(path);
    if (found == later.entries_.end()) {
      changes[path] = "removed ";
    } else if (found->second != state) {
      changes[path] = "changed ";
    }
  }
  for (const auto& [path, state] : later.entries_) {
    if (entries_.count(path) == 0) changes[path] = "made ";
  }
  std::vector<std::string> texts;
  for (const auto& [path, verb] : changes) {
    if (texts.size() == limit) {
      texts.push_back(absl::StrCat("and ", changes.size() - limit, " more"));
      break;
    }
    texts.push_back(absl::StrCat(verb, path));
  }
  return texts;
}

}  // namespace reprise::conformance
