// Checkpoints of a state that no training can go on from.
//
// A run that has gone wrong is saved as faithfully as any other, but marked
// (user value `trainer.not_finite`), so that nobody resumes from it unawares.
#ifndef REPRISE_TRAINER_CHECKPOINT_NOT_FINITE_H_
#define REPRISE_TRAINER_CHECKPOINT_NOT_FINITE_H_

#include <string>

#include "format/snapshot.h"

namespace reprise {

// Names of the weights, buffers, moments, averages and the scale of `snapshot`
// that are not finite, for people; empty: all are. Gradients do not count: a
// scaled one that overflowed is what the scaler is there for.
std::string NotFinite(const Snapshot& snapshot);

// Marks `snapshot` when something is not finite; returns NotFinite.
std::string MarkNotFinite(Snapshot* snapshot);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_NOT_FINITE_H_
