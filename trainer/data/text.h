// LoadText: text as windows of bytes, to train and to evaluate on.
//
//   auto train = reprise::LoadText(/*folder=*/"", reprise::Split::kTrain,
//                                  /*sequence_length=*/128, /*limit=*/0);
//   if (!train.ok()) return train.status();
//
// Without a folder the text is that of the licences which Debian's base-files
// puts on every machine (/usr/share/common-licenses): twelve of them, 214 kB,
// to train on, and two others (Artistic and MPL-2.0, 23 kB) held out. Every
// file is compared with a digest, so that a run means the same everywhere. With
// a folder it is the person's own text, train.txt and test.txt in it.
#ifndef REPRISE_TRAINER_DATA_TEXT_H_
#define REPRISE_TRAINER_DATA_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"

namespace reprise {

// The first `limit` windows (0: all) of the split's bytes; what fills no window
// at the end is left out. Errors: NOT_FOUND naming the file and what to do;
// DATA_LOSS for a licence of another digest; UNAVAILABLE for a file that cannot
// be read; INVALID_ARGUMENT for a text shorter than one window or a limit above
// the number of windows, or sequence_length < 1. Thread-safe.
absl::StatusOr<Dataset> LoadText(const std::string& folder, Split split,
                                 int64_t sequence_length, uint64_t limit);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_TEXT_H_
