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

TimeBudget::TimeBudget(std::function<double()> now)
    : now_(now ? std::move(now) : Clock), start_(now_()) {}

void TimeBudget::Begin(double max_seconds) {
  max_seconds_ = max_seconds;
  last_lap_ = now_();
}

void TimeBudget::Lap() {
  const double now = now_();
  longest_lap_ = std::max(longest_lap_.value_or(0), now - last_lap_);
  last_lap_ = now;
}

void TimeBudget::SaveTook(double seconds) {
  longest_save_ = std::max(longest_save_, seconds);
}

bool TimeBudget::Spent() const {
  return max_seconds_ > 0 && longest_lap_.has_value() &&
         Elapsed() + *longest_lap_ + longest_save_ >= max_seconds_;
}

}  // namespace reprise
