#include "conformance/runner/kill_trigger.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {

using v1::Event;
using v1::HoldAt;
using v1::Kill;
using v1::Point;
using v1::Point_Name;
using v1::SaveEvent;

namespace {

bool IsSavePoint(Point point) { return point >= v1::S1 && point <= v1::S8; }

}  // namespace

KillTrigger::KillTrigger(const Kill& kill, const v1::Geometry& means,
                         absl::Time started)
    : kill_(kill), means_(means) {
  if (kill_.where() == Kill::IN_LOAD) SetDue(means_.start_seconds(), started);
}

void KillTrigger::SetDue(double mean_seconds, absl::Time now) {
  if (due_ != absl::InfiniteFuture()) return;
  const absl::Duration delay = absl::Seconds(mean_seconds * kill_.phase());
  kill_.set_delay_us(absl::ToInt64Microseconds(delay));
  due_ = now + delay;
}

void KillTrigger::Take(const Event& event, absl::Time now) {
  ++events_;
  const bool save = event.has_save();
  switch (kill_.where()) {
    case Kill::AFTER_STEP:
      if (event.has_step() && event.step().step() >= kill_.step()) {
        SetDue(means_.step_seconds(), now);
      }
      break;
    case Kill::IN_SAVE:
      if (save && event.save().phase() == SaveEvent::BEGUN &&
          event.save().step() >= kill_.step()) {
        SetDue(means_.save_seconds(), now);
      }
      break;
    case Kill::AFTER_COMMIT:
      if (save && event.save().phase() == SaveEvent::COMMITTED &&
          event.save().step() >= kill_.step()) {
        SetDue(means_.step_seconds(), now);
      }
      break;
    case Kill::IN_EVALUATION:
      if (event.has_step() && event.step().step() >= kill_.step()) {
        SetDue(means_.evaluation_seconds(), now);
      }
      break;
    case Kill::AFTER_EVENT:
      if (events_ >= kill_.event()) SetDue(means_.step_seconds(), now);
      break;
    case Kill::AT_HOLD:
      TakeForHold(event, now);
      break;
    default:
      break;
  }
}

void KillTrigger::TakeForHold(const Event& event, absl::Time now) {
  const HoldAt& hold = kill_.hold();
  const Point point = hold.point();
  if (event.has_held()) return SetDue(0, now);
  if (event.has_start()) resumed_ = event.start().resumed_step() > 0;
  // The point lies behind when something of a later step happens: P6 comes
  // after the StepEvent, s7 after the commit.
  bool passed = false;
  if (point == v1::LOAD) {
    passed = event.has_step() && resumed_;
  } else if (!hold.has_step() || point == v1::S8) {
    // Whether a prune has anything to do is the testee's business.
    passed = false;
  } else if (IsSavePoint(point)) {
    passed = event.has_save() && event.save().step() > hold.step();
  } else {
    passed = event.has_step() && event.step().step() > hold.step();
  }
  if (passed && due_ == absl::InfiniteFuture() && ignored_hold_.empty()) {
    ignored_hold_ = absl::StrCat(
        "it was to be held at ", Point_Name(point),
        hold.has_step() ? absl::StrCat(" of step ", hold.step()) : "",
        ", which it describes, and went past it");
  }
}

std::string PlaceOfEnd(const std::vector<Event>& events) {
  std::string place = "in_load";
  int open_saves = 0;
  for (const Event& event : events) {
    switch (event.kind_case()) {
      case Event::kHeld:
        place = absl::StrCat("held:", Point_Name(event.held().point()));
        break;
      case Event::kSave:
        if (event.save().phase() == SaveEvent::BEGUN) {
          ++open_saves;
        } else if (open_saves > 0) {
          --open_saves;
        }
        place = event.save().phase() == SaveEvent::COMMITTED ? "after_commit"
                                                             : "in_step";
        break;
      case Event::kEnd:
        place = "at_end";
        break;
      case Event::kStart:
      case Event::kStep:
      case Event::kEvaluation:
        place = "in_step";
        break;
      default:
        // Notes and digests do not tell of a place.
        break;
    }
  }
  return open_saves > 0 && place.rfind("held:", 0) != 0 ? "in_save" : place;
}

}  // namespace reprise::conformance
