// Mutants: deliberate faults, each in an otherwise right fake trainer, that a
// judge must name.
//
//   const Mutant* mutant = FindMutant("M21");
//   RunFake(request, /*noise=*/std::nullopt, &sink, mutant->install);
//
// A mutant wraps a part of the trainer or edits what its store loads; the
// training loop is the right one. conformance/MUTANTS.md describes each.
// Thread-safe after initialisation.
#ifndef REPRISE_CONFORMANCE_FAKE_MUTANTS_MUTANT_H_
#define REPRISE_CONFORMANCE_FAKE_MUTANTS_MUTANT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "conformance/fake/testee.h"
#include "format/vocabulary.h"

namespace reprise::conformance::fake {

// What a verdict must say, e.g. scaler.scale:RESET.
struct Finding {
  Item item;
  Fault fault;
};

// The first kind of interruption after which the fault shows.
enum class Shows {
  kFirstResume,      // any resume
  kSecondResume,     // a resume of a resumed run
  kLaterEpoch,       // a resume within the second epoch or a later one
  kEpochEnd,         // a resume from an epoch's last step
  kMidAccumulation,  // a resume from a checkpoint between micro-steps
  kRunEnd,           // with or without a resume, at the end of the run
};
absl::string_view Name(Shows shows);

struct Mutant {
  std::string id;     // "M21", "M36.cuda", "X04"
  std::string fault;  // what the trainer does wrong
  // "a + b": both must be named; "a / b": either does. Items and faults by
  // their canonical text, "+" binding weaker than "/".
  std::string expected;
  // Workload on which it shows.
  std::string workload = "T0";
  Shows shows = Shows::kFirstResume;
  // Settings that the request needs, "name=value".
  std::vector<std::string> settings;
  // Steps whose overflow must be injected for it to show.
  std::vector<uint64_t> inject_overflow;
  // Attempted steps in which to kill it, in turn, so that it shows: with
  // SIGKILL at P2, and there in the third micro-step for kMidAccumulation.
  std::vector<uint64_t> kill_steps;
  // What a comparison with the uninterrupted run then sees, first things first:
  //   "older", "scratch", "label"  the last attempt did not start at the newest
  //                   committed step: before it, at 0, off by a label
  //   "D a.b c.d"     digests that differ from those at the save, after load
  //   "F a.b"         digests that differ from those after load, before the
  //                   first forward
  //   "k+1 U P"       first step that differs, counted from the one resumed at,
  //                   and its channels in MUTANTS.md's letters
  //   "E"             evaluations differ, before or without any step
  //   "late", "early" the run ends after or before the other
  //   "files"         the newest file is older than what was acknowledged
  std::string signature;
  // The gradients are noisy (the control, M60).
  bool noisy = false;
  Customise install;
};

// Those of MUTANTS.md (M..) and further ones of the same kinds (X..), in order
// of their ids.
const std::vector<Mutant>& Mutants();
// null when there is none of that id.
const Mutant* FindMutant(absl::string_view id);

// `expected` taken apart: every inner list must have one Finding in the
// verdict. Empty for a control. Error InvalidArgument for an unknown word.
absl::StatusOr<std::vector<std::vector<Finding>>> ParseExpected(
    absl::string_view expected);
// One mutant, or several at once: "M03,M21". Error InvalidArgument for an
// unknown id.
absl::StatusOr<std::vector<const Mutant*>> FindMutants(absl::string_view ids);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_MUTANTS_MUTANT_H_
