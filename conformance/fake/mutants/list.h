// The table of mutants for programs: one JSON object a line.
//
//   {"id": "M21", "fault": "...", "expected": "scaler.scale:RESET",
//    "workload": "T0", "shows": "first resume", "settings": ["a=b"],
//    "inject_overflow": [50], "kill_steps": [63],
//    "signature": "...", "noisy": false}
#ifndef REPRISE_CONFORMANCE_FAKE_MUTANTS_LIST_H_
#define REPRISE_CONFORMANCE_FAKE_MUTANTS_LIST_H_

#include <string>

namespace reprise::conformance::fake {

std::string MutantsAsJsonLines();

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_MUTANTS_LIST_H_
