#include "trainer/time_budget.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace reprise {
namespace {

double Clock() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

TimeBudget::TimeBudget(double max_seconds, std::function<double()> now)
    : max_seconds_(max_seconds),
      now_(now ? std::move(now) : Clock),
      start_(now_()),
      last_lap_(start_) {}

void TimeBudget::Lap() {
  const double now = now_();
  longest_lap_ = std::max(longest_lap_, now - last_lap_);
  last_lap_ = now;
}

void TimeBudget::SaveTook(double seconds) {
  longest_save_ = std::max(longest_save_, seconds);
}

bool TimeBudget::Spent() const {
  return max_seconds_ > 0 &&
         Elapsed() + longest_lap_ + longest_save_ >= max_seconds_;
}

}  // namespace reprise
