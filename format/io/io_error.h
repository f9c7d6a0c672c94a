// Errors of the operating system as refusals that remember their errno.
//
// Example:
//
//   absl::Status status = reprise::IoError(ENOSPC, "write", "run/x");
//   reprise::ErrnoOf(status);    // ENOSPC
//   reprise::RefusalOf(status);  // Refusal::IO
//
// Thread-safe.
#ifndef REPRISE_FORMAT_IO_IO_ERROR_H_
#define REPRISE_FORMAT_IO_IO_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise {

// The refusal for `error_number` (an errno value, not 0) of `operation` on
// `path`: ENOENT is ABSENT, ELOOP (a symbolic link where none is followed) is
// NOT_A_CHECKPOINT, anything else IO. Adds what to do where that is known.
absl::Status IoError(int error_number, absl::string_view operation,
                     absl::string_view path);

// The errno that `status` came from; 0 when it came from none.
int ErrnoOf(const absl::Status& status);

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_IO_ERROR_H_
