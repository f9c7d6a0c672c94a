#include "conformance/runner/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

namespace reprise::conformance {
namespace {

// Reads a whole file of /proc, which knows no size beforehand.
bool ReadProcFile(const std::string& path, std::string* text) {
  text->clear();
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[4096];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0)
    text->append(buffer, got);
  close(fd);
  return got == 0;
}

std::string ProcPath(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

}  // namespace

std::vector<ProcessInfo> AllProcesses() {
  std::vector<ProcessInfo> all;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return all;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = atoi(entry->d_name);
    std::string stat;
    if (pid <= 0 || !ReadProcFile(ProcPath(pid, "stat"), &stat)) continue;
    // "pid (name) state parent ...": a name may hold spaces and parentheses.
    const size_t open = stat.find('(');
    const size_t close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos ||
        close + 4 > stat.size()) {
      continue;
    }
    ProcessInfo info;
    info.pid = pid;
    info.name = stat.substr(open + 1, close - open - 1);
    info.state = stat[close + 2];
    info.parent = atoi(stat.c_str() + close + 4);
    all.push_back(info);
  }
  closedir(folder);
  return all;
}

std::vector<ProcessInfo> DescendantsOf(pid_t root) {
  std::vector<ProcessInfo> rest = AllProcesses();
  std::vector<ProcessInfo> found;
  std::set<pid_t> family = {root};
  // A child may have a smaller number than its parent, so go on until a pass
  // adds nobody.
  for (bool grew = true; grew;) {
    grew = false;
    std::vector<ProcessInfo> others;
    for (const ProcessInfo& process : rest) {
      if (family.count(process.parent) > 0 && process.pid != root) {
        family.insert(process.pid);
        found.push_back(process);
        grew = true;
      } else {
        others.push_back(process);
      }
    }
    rest.swap(others);
  }
  return found;
}

std::vector<ProcessInfo> ProcessesMarked(const std::string& entry) {
  std::vector<ProcessInfo> found;
  const std::string wanted = std::string(1, '\0') + entry + '\0';
  for (const ProcessInfo& process : AllProcesses()) {
    std::string environment;
    if (!ReadProcFile(ProcPath(process.pid, "environ"), &environment)) continue;
    environment.insert(0, 1, '\0');
    if (environment.find(wanted) != std::string::npos) found.push_back(process);
  }
  return found;
}

}  // namespace reprise::conformance
