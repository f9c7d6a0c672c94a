// What the loss of an item can do to a run: which channels it may move, and how
// soon. With it the judge goes on after the first difference: a channel that no
// known cause explains has a cause of its own.
#ifndef REPRISE_CONFORMANCE_JUDGE_CAUSES_H_
#define REPRISE_CONFORMANCE_JUDGE_CAUSES_H_

#include <cstdint>
#include <map>

#include "conformance/judge/channel.h"
#include "format/vocabulary.h"

namespace reprise::conformance {

// First step at which each channel differs.
using Onsets = std::map<Channel, uint64_t>;

// Whether the loss `item`:`fault`, in force from `since` on, explains that
// `channel` differs at `step`. An item that acts through a recorded channel
// (the schedule through the learning rate, the scaler through the scale)
// explains others only once that channel differs; `onsets` says when.
bool Explains(Item item, Fault fault, uint64_t since, Channel channel,
              uint64_t step, const Onsets& onsets);

// Whether the loss of `cause` in an earlier step makes a later saved `item`
// differ from the uninterrupted run's.
bool Contaminates(Item cause, Fault fault, Item item);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_CAUSES_H_
