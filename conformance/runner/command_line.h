// Command lines as people write them.
#ifndef REPRISE_CONFORMANCE_RUNNER_COMMAND_LINE_H_
#define REPRISE_CONFORMANCE_RUNNER_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::conformance {

// Splits as a POSIX shell does: blanks, '...', "..." (with \" and \\), and a
// backslash before any character. Nothing is expanded; a $ or * is itself.
// Errors: InvalidArgument for an open quote or a backslash at the end.
absl::StatusOr<std::vector<std::string>> SplitCommand(absl::string_view line);

// The inverse: words quoted where a shell needs it.
std::string JoinCommand(const std::vector<std::string>& words);

// Makes words that name an existing file or folder below `folder`, and values
// of
// --flag=value that do, absolute, so that the command still works from another
// working folder. A program name without '/' is left to the PATH.
std::vector<std::string> ResolveAgainst(const std::string& folder,
                                        std::vector<std::string> words);

// Where the person stood: BUILD_WORKING_DIRECTORY (set by `bazel run`), else
// the current folder.
std::string PersonsFolder();

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_COMMAND_LINE_H_
