// What a verb of ckpt is, and the list of them.
#ifndef REPRISE_TOOLS_CKPT_VERB_H_
#define REPRISE_TOOLS_CKPT_VERB_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/vocabulary.h"
#include "tools/ckpt/arguments.h"

namespace reprise::ckpt {

// Where a verb writes. `out` is what was asked for (and nothing else with
// --json); `err` is for warnings and progress. Colours and progress bars are
// for terminals.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

struct Verb {
  const char* name;
  const char* paths;    // "RUN_OR_CHECKPOINT"
  const char* summary;  // one line of the list of verbs
  const char* help;     // paragraphs of `ckpt VERB --help`
  std::vector<Flag> flags;
  // Does the work. An error is printed by the caller, which ends with
  // ExitCodeFor it; INVALID_ARGUMENT without a refusal is a bad request.
  absl::Status (*run)(const Arguments& arguments, Streams streams);
};

// `status`, if it is the system's refusal to write what was to be written, so
// that the program ends with EXIT_SAVE_FAILED; any other as it is.
absl::Status NotWritten(absl::Status status);

// Runs `words` (without the program's name); returns the exit code. Thread-safe
// as far as the streams are.
ExitCode RunCkpt(const std::vector<std::string>& words,
                 const std::vector<Verb>& verbs, Streams streams);

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_VERB_H_
