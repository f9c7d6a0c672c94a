// The witness: what the next step will see, computed from the live objects.
//
//   snapshot.witness = reprise::WitnessOf(state);          // at a save
//   ...
//   absl::Status status =                                  // after a restore,
//       reprise::CheckWitness(*snapshot.witness, state);   // before the step
//
// A file can be right and its reader wrong: state restored into the wrong
// object, overwritten by what is built later, or used up by an evaluation. The
// witness is recomputed from the objects that will train, so it catches what no
// digest of the file can.
#ifndef REPRISE_TRAINER_CHECKPOINT_WITNESS_H_
#define REPRISE_TRAINER_CHECKPOINT_WITNESS_H_

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "trainer/train_state.h"

namespace reprise {

// Sample ids of the next batch (XXH3-128 over little-endian u64), learning rate
// of each group, scale, and the first 16 uniform floats that a clone of each
// generator draws (XXH3-128 over their bytes). Changes nothing in `state`.
WitnessState WitnessOf(const TrainState& state);

// MISMATCH naming the item (sampler.cursor, sched.applied, scaler.scale,
// rng.cpu, rng.cuda) whose value is not the one that `saved` announces. What
// `saved` does not have is not compared.
absl::Status CheckWitness(const WitnessState& saved, const TrainState& state);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_WITNESS_H_
