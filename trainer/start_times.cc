#include "trainer/start_times.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <utility>

#include "absl/strings/str_format.h"

namespace reprise {
namespace {

double Seconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

double Clock() { return Seconds(CLOCK_MONOTONIC); }

// Since the creation of this process: field 22 of /proc/self/stat, in ticks
// after the machine's start. The program's name, field 2, may hold spaces.
double SinceCreation() {
  std::ifstream file("/proc/self/stat");
  std::string line((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  std::istringstream number(field);
  double ticks = 0;
  if (!fields || !(number >> ticks)) return 0;
  return std::max(0.0, Seconds(CLOCK_BOOTTIME) -
                           ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace

StartTimes::StartTimes(std::function<double()> now, double before)
    : now_(now ? std::move(now) : Clock),
      last_(now_() - (before < 0 ? SinceCreation() : before)) {}

void StartTimes::Ended(StartPhase phase) {
  const double now = now_();
  seconds_[static_cast<size_t>(phase)] += now - last_;
  last_ = now;
}

std::string StartTimes::FirstStepDone(const ReadTime& read) {
  Ended(StartPhase::kFirstStep);
  const double total = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
  return absl::StrFormat(
      "First step %.3f s after the process began: start %.3f, choose %.3f, "
      "verify %.3f, read %.3f, rebuild %.3f, first step %.3f",
      total, seconds_[0], seconds_[1] - read.seconds, read.verify_seconds,
      read.seconds - read.verify_seconds, seconds_[2], seconds_[3]);
}

}  // namespace reprise
