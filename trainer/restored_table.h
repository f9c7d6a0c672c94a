// The table of what was restored that a resumed run prints, an item a line:
//
//   Restored from runs/a/step-000000000100:
//     model.params          SAVED          10 tensors, 206922 elements
//     ema.weights           NOT_APPLICABLE no average of the weights is kept
//     rng.cpu               BEGUN ANEW     mt19937, 5056 bytes
#ifndef REPRISE_TRAINER_RESTORED_TABLE_H_
#define REPRISE_TRAINER_RESTORED_TABLE_H_

#include <string>
#include <vector>

#include "format/snapshot.h"
#include "format/vocabulary.h"

namespace reprise {

// `path` is the checkpoint's folder; `anew` the items that it did not have and
// that begin anew. Lines of at most `columns` (0: as wide as need be, for a
// file), each with its newline. Pure, thread-safe.
std::string RestoredTable(const std::string& path, const Snapshot& snapshot,
                          const std::vector<Item>& anew, int columns);

}  // namespace reprise

#endif  // REPRISE_TRAINER_RESTORED_TABLE_H_
