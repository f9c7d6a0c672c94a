// What the judge looks at: events of uninterrupted runs, of the run that was
// killed and resumed, and of controls. Everything is in memory;
// judge_campaign.h reads it from the folders that the runner leaves.
//
//     baselines   fresh --------------------------------------------> end
//     subject     fresh ------ x      resumed ------ x    resumed --> end
//                              kill                  kill
//     repeats     one checkpoint, resumed more than once
//     controls    a subject in whose checkpoint one item was edited on purpose
#ifndef REPRISE_CONFORMANCE_JUDGE_EVIDENCE_H_
#define REPRISE_CONFORMANCE_JUDGE_EVIDENCE_H_

#include <optional>
#include <string>
#include <vector>

#include "format/vocabulary.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise::conformance {

namespace v1 = ::reprise::conformance::v1;

// What the harness did to an attempt.
enum class Sent {
  kNothing,
  // SIGKILL, at a random moment or while the testee was held.
  kKill,
  // SIGTERM, with time to save.
  kTerm,
};

// One process of the testee.
struct AttemptEvidence {
  std::vector<v1::Event> events;
  // Exit status, when it exited by itself.
  std::optional<int> exit_code;
  // Signal that ended it; 0 when it exited.
  int signal = 0;
  Sent sent = Sent::kNothing;
  // What the harness found wrong with it besides its events and its exit
  // status ("no event for 120 s", "left processes behind"); empty: nothing.
  std::string misbehaved;
};

// The attempts of one run folder, in order.
struct LineageEvidence {
  std::vector<AttemptEvidence> attempts;
};

// A run in which an item was lost on purpose, by editing a committed
// checkpoint between two attempts.
struct ControlEvidence {
  // The edited item; nullopt: everything but the weights was dropped.
  std::optional<Item> item;
  LineageEvidence lineage;
};

struct Evidence {
  v1::Description description;
  // What was asked of the subject (and, but for the kills, of the baselines).
  v1::RunRequest request;
  // Uninterrupted, equal seed; at least two, or no verdict can be a PASS.
  std::vector<LineageEvidence> baselines;
  LineageEvidence subject;
  // Attempts that resumed one and the same checkpoint as each other.
  std::vector<AttemptEvidence> repeats;
  std::vector<ControlEvidence> controls;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_EVIDENCE_H_
