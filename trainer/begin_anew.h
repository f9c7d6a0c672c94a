// Going on from a checkpoint that lacks items (--accept_missing), such as one
// that `ckpt import` made of a file of Python's.
//
//   std::vector<LackingItem> missing = MissingFrom(checkpoint.snapshot);
//   auto accepted = AcceptMissing(missing, names, checkpoint.path);
//   if (!accepted.ok()) return accepted.status();
//   BeginAnew(*accepted, fresh, &checkpoint.snapshot);  // now it lacks nothing
//
// Nothing begins anew that the person has not named. Pure functions,
// thread-safe.
#ifndef REPRISE_TRAINER_BEGIN_ANEW_H_
#define REPRISE_TRAINER_BEGIN_ANEW_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/inventory.h"
#include "format/snapshot.h"

namespace reprise {

// What the trainer must be told to do without: the items that are lacking for
// the very same run, but for those that version 1 had no place for.
std::vector<LackingItem> MissingFrom(const Snapshot& snapshot);

// The items that `names` (of --accept_missing) names, when they are exactly
// `missing`. Errors, which begin with `path`:
//   MISSING_ITEM      an item that is missing and not named, each by name, and
//                     the flag to give; or one that cannot begin anew
//   INVALID_ARGUMENT  a name that is no item's, or of an item that is there
absl::StatusOr<std::vector<Item>> AcceptMissing(
    const std::vector<LackingItem>& missing,
    const std::vector<std::string>& names, const std::string& path);

// Puts each of `items` into `snapshot` as `fresh` has it, the state of a run
// that has not begun, captured from the configuration. Two are the checkpoint's
// own: the counters follow from the schedule's position, else from the
// optimizer's steps, else every step was applied; and an optimizer that does
// not count has made as many steps as were applied. A schedule that is not
// there at all begins where the counters are. REQUIRES: AcceptMissing. Errors:
// MISMATCH naming an item that the checkpoint has in part, or that does not fit
// the configuration.
absl::Status BeginAnew(const std::vector<Item>& items, const Snapshot& fresh,
                       Snapshot* snapshot);

}  // namespace reprise

#endif  // REPRISE_TRAINER_BEGIN_ANEW_H_
