// Typed errors: why a checkpoint or a run folder was refused.
//
// Every absl::Status of format/ that reports a refusal carries its kind as a
// payload, so that callers decide by kind and never by text.
//
// Example (a test as well):
//
//   absl::Status status = reprise::MakeRefusal(
//       reprise::Refusal::TRUNCATED, "expected 4096 bytes, found 17");
//   status = reprise::Annotate(status, "run/step-000000000060/manifest.ckpt");
//   reprise::RefusalOf(status);    // Refusal::TRUNCATED, still
//   reprise::ExitCodeFor(status);  // ExitCode::EXIT_CHECKPOINT_REJECTED
//
// Thread-safe.
#ifndef REPRISE_FORMAT_REFUSAL_H_
#define REPRISE_FORMAT_REFUSAL_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "format/vocabulary.h"

namespace reprise {

// A status of that kind. `message` says what was expected, what was found,
// where, and what to do. `refusal` must not be REFUSAL_UNSPECIFIED.
absl::Status MakeRefusal(Refusal refusal, absl::string_view message);

// The kind that `status` carries; REFUSAL_UNSPECIFIED when it carries none (an
// OK status, or an error from elsewhere).
Refusal RefusalOf(const absl::Status& status);

// `status` with "context: " before its message; code, kind and every other
// payload are kept, so the first cause stays readable to the end. An OK status
// is returned as it is.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// The exit code of a program that ends because of `status`:
// - OK: EXIT_DONE
// - LOCKED, ABSENT (asked of the wrong folder): EXIT_BAD_REQUEST
// - every other refusal: EXIT_CHECKPOINT_REJECTED
// - no refusal, INVALID_ARGUMENT: EXIT_BAD_REQUEST
// - no refusal, UNIMPLEMENTED: EXIT_UNSUPPORTED
// - anything else: EXIT_TRAINING_FAILED
// A caller that was saving reports EXIT_SAVE_FAILED instead; only it knows.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace reprise

#endif  // REPRISE_FORMAT_REFUSAL_H_
