#include "format/lock_owner.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace reprise {
namespace {

constexpr char kUnknown[] = "-";

// A small file of /proc; empty when it cannot be read.
std::string ProcFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// One printable word, so that the words of the line can be told apart.
std::string AsWord(std::string text) {
  absl::StripAsciiWhitespace(&text);
  for (char& c : text) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) c = '?';
  }
  return text.empty() ? kUnknown : text;
}

std::string HostName() {
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return AsWord(host);
}

std::string BootId() {
  return AsWord(ProcFile("/proc/sys/kernel/random/boot_id"));
}

// "4026531836" of "pid:[4026531836]".
std::string PidNamespace() {
  char target[64];
  const ssize_t size = readlink("/proc/self/ns/pid", target, sizeof(target));
  if (size <= 0 || size == sizeof(target)) return kUnknown;
  absl::string_view text(target, static_cast<size_t>(size));
  if (!absl::ConsumePrefix(&text, "pid:[") || !absl::ConsumeSuffix(&text, "]"))
    return kUnknown;
  return AsWord(std::string(text));
}

// What /proc says of process `pid`: its start, 0 when it cannot be told, and
// whether it has ended and only waits to be reaped.
struct ProcessStat {
  uint64_t started = 0;
  bool ended = false;
};

ProcessStat StatOfProcess(int64_t pid) {
  ProcessStat stat;
  const std::string text = ProcFile(absl::StrCat("/proc/", pid, "/stat"));
  // The name, in parentheses, may hold spaces and parentheses itself. State is
  // field 3 and the start field 22 (proc(5)).
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return stat;
  const std::vector<absl::string_view> fields = absl::StrSplit(
      absl::string_view(text).substr(name_end + 1), ' ', absl::SkipEmpty());
  if (fields.size() < 20 || !absl::SimpleAtoi(fields[19], &stat.started)) {
    return ProcessStat();
  }
  stat.ended = fields[0] == "Z" || fields[0] == "X";
  return stat;
}

// A name that many machines share tells nothing about which one it is.
bool NamesAMachine(absl::string_view host) {
  return host != kUnknown && !absl::StartsWith(host, "localhost");
}

}  // namespace

LockOwner ThisProcess() {
  LockOwner owner;
  owner.pid = getpid();
  owner.host = HostName();
  owner.boot = BootId();
  owner.started = StatOfProcess(owner.pid).started;
  owner.pids = PidNamespace();
  owner.since =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  return owner;
}

std::string TextOf(const LockOwner& owner) {
  return absl::StrCat("pid ", owner.pid, " on ", owner.host, " boot ",
                      owner.boot, " started ", owner.started, " pids ",
                      owner.pids, " since ", owner.since);
}

std::optional<LockOwner> ParseLockOwner(absl::string_view text) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::StripAsciiWhitespace(text), ' ');
  LockOwner owner;
  if (words.size() != 12 || !absl::SimpleAtoi(words[1], &owner.pid) ||
      !absl::SimpleAtoi(words[7], &owner.started) || owner.pid <= 0) {
    return std::nullopt;
  }
  owner.host = words[3];
  owner.boot = words[5];
  owner.pids = words[9];
  owner.since = words[11];
  // Whatever was between the words differs when the text is not ours.
  if (TextOf(owner) != absl::StripAsciiWhitespace(text)) return std::nullopt;
  return owner;
}

OwnerState StateOf(const LockOwner& owner) {
  const LockOwner self = ThisProcess();
  if (owner.host != self.host) return OwnerState::kElsewhere;
  if (owner.boot == kUnknown || self.boot == kUnknown) {
    return OwnerState::kElsewhere;
  }
  if (owner.boot != self.boot) {
    return NamesAMachine(owner.host) ? OwnerState::kGone
                                     : OwnerState::kElsewhere;
  }
  // In another container the number means another process.
  if (owner.pids != self.pids || owner.pids == kUnknown) {
    return OwnerState::kElsewhere;
  }
  if (kill(static_cast<pid_t>(owner.pid), 0) != 0 && errno == ESRCH) {
    return OwnerState::kGone;
  }
  const ProcessStat found = StatOfProcess(owner.pid);
  if (found.ended) return OwnerState::kGone;
  const bool other_process = owner.started != 0 && found.started != 0 &&
                             owner.started != found.started;
  return other_process ? OwnerState::kGone : OwnerState::kAlive;
}

}  // namespace reprise
