#include "trainer/testing/run_files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace reprise {

namespace fs = std::filesystem;

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, std::string> ReadTree(const std::string& folder) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (entry.is_directory()) {
      if (fs::is_empty(entry.path())) tree[name + "/"] = "";
    } else if (name != "lock") {
      tree[name] = ReadFileOrDie(entry.path().string());
    }
  }
  return tree;
}

uint64_t TreeBytes(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

std::vector<std::string> ChangedFiles(
    const std::map<std::string, std::string>& before,
    const std::map<std::string, std::string>& after) {
  std::vector<std::string> changed;
  for (const auto& [name, content] : before) {
    const auto now = after.find(name);
    if (now == after.end() || now->second != content) changed.push_back(name);
  }
  for (const auto& [name, content] : after) {
    if (before.find(name) == before.end()) changed.push_back(name);
  }
  return changed;
}

std::string ReadFileOrDie(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    std::abort();
  }
  return content.str();
}

void Overwrite(const std::string& path, const std::string& content) {
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  if (ReadFileOrDie(path) != content) {
    std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
    std::abort();
  }
}

}  // namespace reprise
