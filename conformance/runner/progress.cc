#include "conformance/runner/progress.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace reprise::conformance {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(100);

std::string Left(absl::Duration left) {
  if (left <= absl::ZeroDuration()) return "";
  return absl::StrCat(
      "  ", absl::FormatDuration(absl::Ceil(left, absl::Seconds(1))), " left");
}

}  // namespace

CampaignProgress::Surroundings CampaignProgress::Surroundings::Real() {
  Surroundings surroundings;
  surroundings.is_terminal = isatty(STDERR_FILENO) != 0;
  surroundings.write = [](absl::string_view text) {
    // A closed terminal is no reason to stop.
    const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
    static_cast<void>(ignored);
  };
  return surroundings;
}

CampaignProgress::Surroundings CampaignProgress::Surroundings::None() {
  return {false, [](absl::string_view) {}};
}

CampaignProgress::CampaignProgress(Surroundings surroundings)
    : surroundings_(std::move(surroundings)) {}

CampaignProgress::~CampaignProgress() { Draw(""); }

void CampaignProgress::Draw(const std::string& line) {
  if (!surroundings_.is_terminal || (line.empty() && drawn_ == 0)) return;
  const std::string blanks(drawn_ > line.size() ? drawn_ - line.size() : 0,
                           ' ');
  surroundings_.write(
      absl::StrCat("\r", line, blanks, line.empty() ? "\r" : ""));
  drawn_ = line.size();
}

void CampaignProgress::BeginCase(absl::string_view name, absl::Duration left) {
  ++begun_;
  case_ = std::string(name);
  left_ = left;
  last_draw_ = absl::InfinitePast();
  Attempt(1, 0, 0);
}

void CampaignProgress::Attempt(int number, uint64_t step, uint64_t steps) {
  const absl::Time now = absl::Now();
  if (now - last_draw_ < kRedraw) return;
  last_draw_ = now;
  Draw(absl::StrCat(
      "[", begun_, "/", std::max(total_, begun_), "] ", case_, "  attempt ",
      number, step > 0 ? absl::StrCat("  step ", step) : "",
      step > 0 && steps > 0 ? absl::StrCat("/", steps) : "", Left(left_)));
}

void CampaignProgress::EndCase(absl::string_view name,
                               absl::string_view result) {
  Print(absl::StrCat("[", begun_, "/", std::max(total_, begun_), "] ", name,
                     ": ", result));
}

void CampaignProgress::Print(absl::string_view text) {
  Draw("");
  surroundings_.write(absl::StrCat(text, "\n"));
}

}  // namespace reprise::conformance
