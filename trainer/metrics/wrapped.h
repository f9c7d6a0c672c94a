// Wrapped: one row of a table for people, broken to the width of a terminal.
//
//   Wrapped("  best         ", "loss 0.4102 at step 40, of which no "
//           "checkpoint is kept", /*columns=*/50);
//
//     best         loss 0.4102 at step 40, of which no
//                  checkpoint is kept
#ifndef REPRISE_TRAINER_METRICS_WRAPPED_H_
#define REPRISE_TRAINER_METRICS_WRAPPED_H_

#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// `head` and `text`, which has one column a byte, with a newline. `text` is
// broken at blanks so that no line has more than `columns`; the lines that
// follow are indented as far as `head` reaches, but at most half of `columns`.
// A word that is longer than a line (a path) stays whole. 0 columns: one line,
// as for a file. No blanks at the end. Pure, thread-safe.
std::string Wrapped(absl::string_view head, absl::string_view text,
                    int columns);

}  // namespace reprise

#endif  // REPRISE_TRAINER_METRICS_WRAPPED_H_
