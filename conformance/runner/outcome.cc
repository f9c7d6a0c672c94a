#include "conformance/runner/outcome.h"

#include <signal.h>
#include <string.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

namespace reprise::conformance {
namespace {

using v1::Event;
using v1::HoldAt;
using v1::Outcome;
using v1::Point_Name;

NamedEnd NameSignal(const EndFacts& facts) {
  const int number = *facts.end->signal;
  if (facts.planned_kill && facts.end->killed_by_owner) {
    return {v1::OUTCOME_INTERRUPTED, "killed as planned"};
  }
  if (facts.term_sent && number == SIGTERM) {
    return {v1::OUTCOME_INTERRUPTED, "died of the SIGTERM that was planned"};
  }
  return {v1::OUTCOME_FOREIGN_SIGNAL,
          absl::StrCat("died of signal ", number, " (", strsignal(number),
                       "), which the harness did not send")};
}

NamedEnd NameExitZero(const EndFacts& facts) {
  if (!facts.events_expected) {
    return {v1::OUTCOME_FINISHED, "exit code 0"};
  }
  if (!facts.started) {
    return {v1::OUTCOME_DIED_AT_START, "exit code 0 before its StartEvent"};
  }
  if (facts.finished) return {v1::OUTCOME_FINISHED, "finished"};
  return {v1::OUTCOME_SHORT,
          "exit code 0, which means that all planned steps were done, but no "
          "EndEvent says \"finished\""};
}

NamedEnd NameExitCode(const EndFacts& facts) {
  using namespace ::reprise::vocabulary::v1;  // NOLINT: the exit codes
  const int code = *facts.end->exit_code;
  switch (code) {
    case EXIT_DONE:
      return NameExitZero(facts);
    case EXIT_BAD_REQUEST:
      return {v1::OUTCOME_BAD_REQUEST,
              "exit code 2: it takes the request for malformed"};
    case EXIT_UNSUPPORTED:
      if (facts.all_features_claimed) {
        return {v1::OUTCOME_FALSE_CLAIM,
                "exit code 10 (unsupported), but its description claims every "
                "feature that the request relies on"};
      }
      return {v1::OUTCOME_UNSUPPORTED,
              "exit code 10: it does not support what was asked for"};
    case EXIT_CHECKPOINT_REJECTED:
      return {v1::OUTCOME_CHECKPOINT_REJECTED,
              "exit code 11: it refused the checkpoint"};
    case EXIT_STOPPED_ON_REQUEST:
      if (facts.term_sent) {
        return {v1::OUTCOME_STOPPED, "stopped on SIGTERM"};
      }
      return {v1::OUTCOME_STOPPED_UNASKED,
              "exit code 13 (stopped on request), but nobody asked"};
    case EXIT_SAVE_FAILED:
      return {v1::OUTCOME_SAVE_FAILED, "exit code 14: a save failed"};
    case EXIT_TRAINING_FAILED:
      return {v1::OUTCOME_TRAINING_FAILED, "exit code 12: training failed"};
    default:
      break;
  }
  // What a shell or a launcher makes of a child that died of SIGTERM.
  if (facts.term_sent && code == 128 + SIGTERM) {
    return {v1::OUTCOME_INTERRUPTED,
            "exit code 143 after the SIGTERM that was planned"};
  }
  if (facts.events_expected && !facts.started) {
    return {v1::OUTCOME_DIED_AT_START,
            absl::StrCat("exit code ", code, " before its StartEvent")};
  }
  if (code == EXIT_USAGE) {
    return {v1::OUTCOME_USAGE,
            "exit code 1: usage, or an interpreter's way to say that the "
            "program crashed"};
  }
  return {v1::OUTCOME_UNKNOWN_EXIT_CODE,
          absl::StrCat("exit code ", code, " is not in the table")};
}

}  // namespace

NamedEnd NameEnd(const EndFacts& facts) {
  if (!facts.start_failure.empty()) {
    return {v1::OUTCOME_NOT_STARTED, facts.start_failure};
  }
  if (!facts.end.has_value()) {
    return {v1::OUTCOME_HARNESS_ERROR,
            "the end of the process was not reported"};
  }
  const NamedEnd named =
      facts.end->signal.has_value() ? NameSignal(facts) : NameExitCode(facts);
  // A kill may cut the line that is being written; whoever ends by itself has
  // written its lines.
  if (facts.torn_bytes > 0 && facts.end->exit_code.has_value() &&
      IsGood(named.outcome)) {
    return {v1::OUTCOME_TORN_EVENT,
            absl::StrCat("the events file ends inside a line of ",
                         facts.torn_bytes, " bytes that begins with \"",
                         absl::CHexEscape(facts.torn_text), "\"")};
  }
  return named;
}

std::string EventOrder::Take(const Event& event, const HoldAt& hold) {
  // A kind from a later version of the protocol.
  if (event.kind_case() == Event::KIND_NOT_SET) return "";
  if (ended_) return "an event after the EndEvent";
  if (event.has_held()) {
    // Held inside a load may come before the StartEvent, which tells its
    // result.
    if (hold.point() == v1::POINT_UNSPECIFIED) {
      return "a HeldEvent, but no hold was asked for";
    }
    if (event.held().point() != hold.point() ||
        (hold.has_step() && event.held().has_step() &&
         event.held().step() != hold.step())) {
      return absl::StrCat("held at ", Point_Name(event.held().point()),
                          " of step ", event.held().step(), "; asked for was ",
                          Point_Name(hold.point()), " of step ", hold.step());
    }
    return "";
  }
  if (event.has_start()) {
    if (started_) return "a second StartEvent";
    started_ = true;
    return "";
  }
  // Notes, and digests taken inside a load, may come before the StartEvent.
  if (!started_ && !event.has_note() && !event.has_state()) {
    return "the first event is not a StartEvent";
  }
  if (event.has_end()) {
    ended_ = true;
    finished_ = event.end().finished();
  }
  return "";
}

bool IsGood(Outcome outcome) {
  return outcome == v1::OUTCOME_FINISHED ||
         outcome == v1::OUTCOME_INTERRUPTED || outcome == v1::OUTCOME_STOPPED;
}

std::string OutcomeText(Outcome outcome) {
  return std::string(absl::StripPrefix(v1::Outcome_Name(outcome), "OUTCOME_"));
}

}  // namespace reprise::conformance
