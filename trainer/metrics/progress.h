// Progress: what a person sees of the training, on standard output.
//
//   reprise::Progress progress(/*total_steps=*/1872, /*log_every=*/50);
//   progress.Step(event);                      // after every step
//   progress.Print("Saved step 100");          // anything else
//   progress.Finish();
//
// On a terminal, one line that is redrawn in place, at most ten times a second:
//
//   [=======>            ] 468/1872  epoch 1  loss 0.4321  lr 0.0025  ...
//
// and everything else goes above it. Elsewhere (a file, a pipe), one line every
// `log_every` steps. What does not fit the terminal's width is left out, the
// least important first.
//
// A closed or full standard output is not an error here: training goes on.
#ifndef REPRISE_TRAINER_METRICS_PROGRESS_H_
#define REPRISE_TRAINER_METRICS_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "trainer/metrics/event.h"

namespace reprise {

// Not thread-safe. Nothing else may write to the terminal between the first
// Step and Finish.
class Progress {
 public:
  // Where output goes and how time passes; the defaults are the real ones.
  struct Surroundings {
    bool is_terminal = false;
    std::function<int()> width;   // columns of the terminal
    std::function<double()> now;  // seconds, monotonic
    std::function<void(absl::string_view)> write;

    static Surroundings Real();
  };

  Progress(uint64_t total_steps, uint64_t log_every,
           Surroundings surroundings = Surroundings::Real());

  // Calls Finish.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Step(const StepEvent& event);
  // The first step is followed by this line.
  void SayAfterFirstStep(std::function<std::string()> line) {
    after_first_step_ = std::move(line);
  }
  // Prints the result on a line of its own.
  void Evaluation(const EvaluationEvent& event);
  // Prints `text` and a newline.
  void Print(absl::string_view text);
  // Draws the last state and leaves the cursor on a fresh line.
  void Finish();

 private:
  // The state of the last step for a line of at most `width` columns.
  std::string Line(int width, bool with_bar) const;
  void UpdateSpeed(const StepEvent& event, double now);
  void Draw(double now);
  void Erase();

  const uint64_t total_steps_;
  const uint64_t log_every_;
  const Surroundings surroundings_;

  std::function<std::string()> after_first_step_;
  StepEvent last_;
  double samples_per_second_ = 0;
  double steps_per_second_ = 0;
  // The window that the speeds are measured over.
  bool measuring_ = false;
  double window_start_ = 0;
  uint64_t window_step_ = 0, window_samples_ = 0;

  double next_draw_ = 0;
  bool drawn_ = true;     // the last step is on the screen
  int columns_used_ = 0;  // of the line on the screen
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_METRICS_PROGRESS_H_
