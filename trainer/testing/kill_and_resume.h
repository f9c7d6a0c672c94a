// Kills a run at a place, resumes it, and expects the run that was never
// killed.
//
//   const auto flags = [](const std::string& folder) {
//     return SmallRunFlags(folder, "bf16", {"--set=model.kind=gpt"});
//   };
//   ExpectKilledIsUninterrupted(flags, {StepPoint::kAfterUpdate, 13});
#ifndef REPRISE_TRAINER_TESTING_KILL_AND_RESUME_H_
#define REPRISE_TRAINER_TESTING_KILL_AND_RESUME_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/testing/child_trainer.h"

namespace reprise {

// Expects that the run in `folder`, which is over, is that in `whole`, to the
// last bit: every record of every attempt from `first_step` on and, unless
// `same_state` is false, the whole state in the last checkpoint.
void ExpectSameRun(const std::string& folder, const std::string& whole,
                   uint64_t first_step = 1, bool same_state = true);

// The command line of a run in the given folder.
using FlagsFor = std::function<std::vector<std::string>(const std::string&)>;

// Trains `flags` to the end in one folder; in another one up to `kill`, and to
// the end with `flags` and `more_on_resume`, which may change no bit but is
// recorded. Expects that the second process went on from a checkpoint.
void ExpectKilledIsUninterrupted(
    const FlagsFor& flags, const Place& kill,
    const std::vector<std::string>& more_on_resume = {});

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_KILL_AND_RESUME_H_
