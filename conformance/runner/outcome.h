// From what is known about the end of an attempt to its name, as pure
// functions.
#ifndef REPRISE_CONFORMANCE_RUNNER_OUTCOME_H_
#define REPRISE_CONFORMANCE_RUNNER_OUTCOME_H_

#include <cstdint>
#include <optional>
#include <string>

#include "conformance/runner/process_tree.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"
#include "reprise/conformance/runner/v1/record.pb.h"

namespace reprise::conformance {

// Facts about an end that no deadline or limit brought about.
struct EndFacts {
  std::string start_failure;
  std::optional<ProcessEnd> end;
  // The tree was killed as planned / SIGTERM was sent as planned.
  bool planned_kill = false;
  bool term_sent = false;
  // False for "describe".
  bool events_expected = true;
  bool started = false;
  bool finished = false;
  bool all_features_claimed = false;
  uint64_t torn_bytes = 0;
  std::string torn_text;
};

struct NamedEnd {
  v1::Outcome outcome;
  std::string detail;
};

NamedEnd NameEnd(const EndFacts& facts);

// Whether events come in an order that the protocol allows: one StartEvent
// first, nothing after the EndEvent, held only where that was asked for.
class EventOrder {
 public:
  // The sentence about a violation, or empty. `hold` without a point: no hold
  // was asked for.
  std::string Take(const v1::Event& event, const v1::HoldAt& hold);

  bool started() const { return started_; }
  bool ended() const { return ended_; }
  // The EndEvent said that all planned steps were done.
  bool finished() const { return finished_; }

 private:
  bool started_ = false;
  bool ended_ = false;
  bool finished_ = false;
};

// FINISHED, INTERRUPTED and STOPPED: what a case can go on from.
bool IsGood(v1::Outcome outcome);

// "GARBAGE_EVENTS" of OUTCOME_GARBAGE_EVENTS.
std::string OutcomeText(v1::Outcome outcome);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_OUTCOME_H_
