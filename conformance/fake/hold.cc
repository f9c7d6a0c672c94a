#include "conformance/fake/hold.h"

#include <unistd.h>

namespace reprise::conformance::fake {

bool Matches(const v1::HoldAt& hold, const Place& place) {
  if (hold.point() != place.point) return false;
  // An attempt loads once, whatever step the checkpoint turns out to have.
  if (hold.point() == v1::LOAD) return true;
  if (hold.has_step() && hold.step() != place.step) return false;
  // From P3 on a step is past its micro-steps.
  const bool once = hold.point() >= v1::P3 && hold.point() <= v1::P6;
  return once || !hold.has_micro() || hold.micro() == place.micro;
}

void HoldObserver::At(const Place& place, State* state) {
  for (const v1::HoldAt& hold : holds_) {
    if (!Matches(hold, place)) continue;
    Event event;
    event.mutable_held()->set_step(place.step);
    event.mutable_held()->set_micro(place.micro);
    event.mutable_held()->set_point(place.point);
    sink_->Write(event);
    for (;;) pause();
  }
}

}  // namespace reprise::conformance::fake
