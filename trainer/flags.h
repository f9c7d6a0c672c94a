// The command line of the trainer.
#ifndef REPRISE_TRAINER_FLAGS_H_
#define REPRISE_TRAINER_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/config/config.h"

namespace reprise {

struct CommandLine {
  // How the person called the program, for messages: its path, or the bazel
  // command.
  std::string program = "trainer";
  std::string run_dir;   // absolute
  std::string data_dir;  // absolute, or empty: the data set's own places
  bool fresh = false;
  // ChooseCheckpoint; a folder is absolute.
  std::string resume = "newest";
  // Names of the items that the checkpoint lacks (trainer/begin_anew.h).
  std::vector<std::string> accept_missing;
  // A checkpoint folder (absolute) whose weights a fresh run begins with.
  std::string init_from;
  // CheckpointStore::Options::take_foreign_lock.
  bool take_foreign_lock = false;
  // What the person set, by file, then --set, then named flags (later ones
  // win); everything else is absent.
  ExplicitFields given;
};

// Reads the flags. Prints help and exits for --help; exits with code 1 naming
// an unknown flag. Relative paths are resolved against BUILD_WORKING_DIRECTORY
// (where the person stood when calling `bazel run`), else the current folder.
// Errors: InvalidArgument naming the flag.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv);

// What to type to go on with the run of `line`: its configuration is the
// checkpoint's, so that nothing but the folders needs to be said. A shell reads
// it as it is written.
std::string GoOnCommand(const CommandLine& line);

}  // namespace reprise

#endif  // REPRISE_TRAINER_FLAGS_H_
