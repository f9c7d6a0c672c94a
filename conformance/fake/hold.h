// HoldObserver: blocks at the places of RunRequest.hold_at, after a HeldEvent.
// It never returns from one: a held testee waits to be killed, and a signal
// that asks for a stop does not wake it.
#ifndef REPRISE_CONFORMANCE_FAKE_HOLD_H_
#define REPRISE_CONFORMANCE_FAKE_HOLD_H_

#include <vector>

#include "conformance/fake/parts.h"
#include "conformance/fake/trainer.h"

namespace reprise::conformance::fake {

// Whether `hold` means this place: what it leaves out matches everything.
bool Matches(const v1::HoldAt& hold, const Place& place);

class HoldObserver : public Observer {
 public:
  // `sink` must outlive the observer.
  HoldObserver(const RunRequest& request, EventSink* sink)
      : holds_(request.hold_at().begin(), request.hold_at().end()),
        sink_(sink) {}

  void At(const Place& place, State* state) override;

 private:
  const std::vector<v1::HoldAt> holds_;
  EventSink* const sink_;
};

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_HOLD_H_
