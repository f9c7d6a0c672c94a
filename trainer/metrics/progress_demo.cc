// Draws the progress of a run that trains nothing, to look at it: eight
// seconds, with an evaluation, a message and a few skipped steps.
#include <chrono>
#include <cmath>
#include <thread>

#include "trainer/metrics/progress.h"

int main() {
  constexpr uint64_t kSteps = 400;
  reprise::Progress progress(kSteps, /*log_every=*/50);
  for (uint64_t step = 1; step <= kSteps; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    reprise::StepEvent event;
    event.step = step;
    event.epoch = step / 100;
    event.samples = 128 * step;
    event.loss = static_cast<float>(2.3 * std::exp(-0.01 * step));
    event.lr = {0.003 * (1 - step / 800.0)};
    event.skipped = step == 30 || step == 31;
    event.applied = step - (step >= 30) - (step >= 31);
    event.scale = step < 30 ? 65536.0f : 16384.0f;
    progress.Step(event);
    if (step == 200) {
      reprise::EvaluationEvent evaluation;
      evaluation.step = step;
      evaluation.loss = 0.4321;
      evaluation.accuracy = 0.8415;
      evaluation.samples = 10000;
      progress.Evaluation(evaluation);
      progress.Print("A message of the program, longer than the line below");
    }
  }
  progress.Finish();
}
