#include "conformance/runner/testing/script.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/proc.h"

namespace reprise::conformance {
namespace {

constexpr char kPrelude[] = R"sh(
E="$1"
event() { printf '%s\n' "$1" >> "$E"; }
start() { event "{\"start\":{\"run_id\":\"r\",\"resumed_step\":\"${1:-0}\"}}"; }
step() { event "{\"step\":{\"step\":$1,\"loss\":{\"v\":0.5}}}"; }
begun() { event "{\"save\":{\"phase\":\"BEGUN\",\"step\":$1}}"; }
committed() {
  event "{\"save\":{\"phase\":\"COMMITTED\",\"step\":$1,\"checkpoint\":\"c$1\"}}"
}
finish() { event '{"end":{"step":3,"finished":true}}'; }
)sh";

}  // namespace

std::string FreshFolder(absl::string_view name) {
  static std::atomic<int> number{0};
  const char* base = getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(base != nullptr ? base : "/tmp", "/",
                                        name, "-", getpid(), "-", ++number);
  mkdir(path.c_str(), 0755);
  return path;
}

AttemptOptions ScriptOptions(const std::string& script) {
  AttemptOptions options;
  const std::string folder = FreshFolder("attempt");
  options.events_path = folder + "/events.jsonl";
  options.stdout_path = folder + "/stdout";
  options.stderr_path = folder + "/stderr";
  options.working_folder = folder;
  options.environment = TesteeEnvironment({}, folder, folder);
  options.command = {"/bin/sh", "-c", absl::StrCat(kPrelude, script), "testee",
                     options.events_path};
  options.deadlines.start = absl::Seconds(5);
  options.deadlines.silence = absl::Seconds(5);
  options.deadlines.whole = absl::Seconds(20);
  options.deadlines.grace = absl::Seconds(5);
  options.deadlines.rest = absl::Milliseconds(200);
  return options;
}

bool AnyProcessMarked(const std::string& entry) {
  for (const ProcessInfo& process : ProcessesMarked(entry)) {
    if (process.state != 'Z') return true;
  }
  return false;
}

bool NoneMarkedSoon(const std::string& entry) {
  for (int i = 0; i < 1000; ++i) {
    if (!AnyProcessMarked(entry)) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace reprise::conformance
