#include "conformance/fake/quiet.h"

#include <utility>

namespace reprise::conformance::fake {

bool ReduceToQuiet(Event* event) {
  if (event->has_state() || event->has_evaluation()) return false;
  if (!event->has_step()) return true;
  v1::StepEvent kept;
  kept.set_step(event->step().step());
  *kept.mutable_loss() = event->step().loss();
  *kept.mutable_lr() = event->step().lr();
  *event->mutable_step() = std::move(kept);
  return true;
}

}  // namespace reprise::conformance::fake
