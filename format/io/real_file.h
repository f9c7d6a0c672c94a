// An open regular file of the operating system. Inside FileSystem::Real().
#ifndef REPRISE_FORMAT_IO_REAL_FILE_H_
#define REPRISE_FORMAT_IO_REAL_FILE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"

namespace reprise {

// Opens the regular file `name` of the folder `at` (or AT_FDCWD); a symbolic
// link is refused. Errors, and those of the file, name `path`.
absl::StatusOr<std::unique_ptr<File>> OpenRegularFile(
    int at, const std::string& name, int flags, mode_t mode,
    absl::string_view operation, const std::string& path);

// The kind that the system's mode says.
FileKind KindOfMode(mode_t mode);
FileInfo InfoOf(const struct stat& status);

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_REAL_FILE_H_
