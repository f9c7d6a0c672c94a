// Gathers what the last lines of a run say (trainer/run_summary.h) from the run
// in memory and from its folder.
#ifndef REPRISE_TRAINER_SUMMARIZE_RUN_H_
#define REPRISE_TRAINER_SUMMARIZE_RUN_H_

#include <cstdint>
#include <string>

#include "trainer/built_run.h"
#include "trainer/config/config.h"
#include "trainer/run_summary.h"

namespace reprise {

// Everything but how the run ended, the time and what to type, which the caller
// knows. `first_step` is the step that this process began on; `resumed` says
// whether a checkpoint brought it there. Draws the loss curve. What cannot be
// read in the run folder is left out: the summary is for people and never a
// reason to fail.
RunSummary SummarizeRun(const TrainerConfig& config, const BuiltRun& run,
                        uint64_t first_step, bool resumed,
                        const std::string& run_folder);

}  // namespace reprise

#endif  // REPRISE_TRAINER_SUMMARIZE_RUN_H_
