#include "trainer/metrics/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/metrics/duration.h"

namespace reprise {
namespace {

constexpr double kSecondsBetweenDraws = 0.1;
// Long enough to smooth single steps, short enough to follow a change.
constexpr double kSpeedWindowSeconds = 2;

int TerminalWidth() {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return 80;
}

double MonotonicSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void WriteToStandardOutput(absl::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(written);
  }
}

double Fraction(uint64_t part, uint64_t whole) {
  return part >= whole ? 1 : static_cast<double>(part) / whole;
}

std::string Bar(double fraction, int columns) {
  int filled = static_cast<int>(fraction * columns);
  std::string bar(columns, ' ');
  std::fill(bar.begin(), bar.begin() + filled, '=');
  if (filled < columns) bar[filled] = '>';
  return absl::StrCat("[", bar, "]");
}

}  // namespace

Progress::Surroundings Progress::Surroundings::Real() {
  return {isatty(STDOUT_FILENO) == 1, TerminalWidth, MonotonicSeconds,
          WriteToStandardOutput};
}

Progress::Progress(uint64_t total_steps, uint64_t log_every,
                   Surroundings surroundings)
    : total_steps_(total_steps),
      log_every_(std::max<uint64_t>(log_every, 1)),
      surroundings_(std::move(surroundings)) {}

Progress::~Progress() { Finish(); }

void Progress::UpdateSpeed(const StepEvent& event, double now) {
  double elapsed = now - window_start_;
  bool first = steps_per_second_ == 0;
  if (measuring_ && elapsed > 0 && (first || elapsed >= kSpeedWindowSeconds)) {
    double steps = (event.step - window_step_) / elapsed;
    double samples = (event.samples - window_samples_) / elapsed;
    // Half of the news: a moving average over a few windows.
    steps_per_second_ = first ? steps : (steps_per_second_ + steps) / 2;
    samples_per_second_ = first ? samples : (samples_per_second_ + samples) / 2;
  }
  if (!measuring_ || elapsed >= kSpeedWindowSeconds) {
    measuring_ = true;
    window_start_ = now;
    window_step_ = event.step;
    window_samples_ = event.samples;
  }
}

std::string Progress::Line(int width, bool with_bar) const {
  // What is left out first when there is no room: a greater number.
  struct Part {
    std::string text;
    int rank;
  };
  std::vector<Part> parts = {
      {absl::StrCat(last_.step, "/", total_steps_), 0},
      {absl::StrCat("epoch ", last_.epoch), 3},
      {absl::StrFormat("loss %.4f", last_.loss), 1},
  };
  if (!last_.lr.empty()) {
    parts.push_back({absl::StrFormat("lr %.3g", last_.lr[0]), 5});
  }
  if (last_.scale.has_value()) {
    parts.push_back({absl::StrFormat("scale %.9g", *last_.scale), 6});
  }
  if (last_.step > last_.applied) {
    parts.push_back({absl::StrCat("skipped ", last_.step - last_.applied), 7});
  }
  if (steps_per_second_ > 0) {
    parts.push_back(
        {absl::StrFormat("%.0f samples/s", samples_per_second_), 4});
    double left =
        (total_steps_ - std::min(last_.step, total_steps_)) / steps_per_second_;
    parts.push_back({absl::StrCat(FormatDuration(left), " left"), 2});
  }
  constexpr int kLeastBar = 6, kGreatestBar = 30;
  for (int greatest = 7; greatest >= 0; --greatest) {
    std::string line;
    for (const Part& part : parts) {
      if (part.rank > greatest) continue;
      absl::StrAppend(&line, line.empty() ? "" : "  ", part.text);
    }
    int room = width - static_cast<int>(line.size());
    if (!with_bar && room >= 0) return line;
    // Two brackets and a blank go with the bar.
    int bar = std::min(room - 3, kGreatestBar);
    if (with_bar && bar >= kLeastBar) {
      return absl::StrCat(Bar(Fraction(last_.step, total_steps_), bar), " ",
                          line);
    }
  }
  return parts[0].text.substr(0, std::max(width, 0));
}

void Progress::Draw(double now) {
  // The last column stays empty: writing there makes some terminals wrap.
  int width = surroundings_.width() - 1;
  std::string line = Line(width, /*with_bar=*/true);
  int columns = line.size();
  // Spaces over the rest of what was there, as far as the terminal goes.
  line.append(std::max(0, std::min(columns_used_, width) - columns), ' ');
  surroundings_.write(absl::StrCat("\r", line));
  columns_used_ = columns;
  next_draw_ = now + kSecondsBetweenDraws;
  drawn_ = true;
}

void Progress::Erase() {
  if (columns_used_ == 0) return;
  int columns = std::min(columns_used_, surroundings_.width() - 1);
  surroundings_.write(
      absl::StrCat("\r", std::string(std::max(columns, 0), ' '), "\r"));
  columns_used_ = 0;
}

void Progress::Step(const StepEvent& event) {
  double now = surroundings_.now();
  UpdateSpeed(event, now);
  last_ = event;
  drawn_ = false;
  if (surroundings_.is_terminal) {
    if (now >= next_draw_) Draw(now);
  } else if (event.step % log_every_ == 0 || event.step == total_steps_) {
    constexpr int kPlainWidth = 200;
    surroundings_.write(
        absl::StrCat("step ", Line(kPlainWidth, /*with_bar=*/false), "\n"));
    drawn_ = true;
  }
  if (after_first_step_) Print(std::exchange(after_first_step_, nullptr)());
}

void Progress::Evaluation(const EvaluationEvent& event) {
  Print(absl::StrFormat("step %d: test loss %.4f, accuracy %.2f %% of %d",
                        event.step, event.loss, 100 * event.accuracy,
                        event.samples));
}

void Progress::Print(absl::string_view text) {
  bool redraw = columns_used_ > 0;
  Erase();
  surroundings_.write(absl::StrCat(text, "\n"));
  if (redraw) Draw(surroundings_.now());
}

void Progress::Finish() {
  if (!surroundings_.is_terminal) return;
  if (!drawn_) Draw(surroundings_.now());
  if (columns_used_ > 0) surroundings_.write("\n");
  columns_used_ = 0;
}

}  // namespace reprise
