// Files that a test of format/interop writes for itself.
#ifndef REPRISE_FORMAT_INTEROP_TESTING_TEMPORARY_FILE_H_
#define REPRISE_FORMAT_INTEROP_TESTING_TEMPORARY_FILE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "format/interop/pickle.h"
#include "format/io/file_system.h"

namespace reprise {

// `name` in the test's own folder.
std::string TempPath(const std::string& name);

// Writes that file anew, by `write`, with these bytes, or as WriteTorchFile
// does; returns its path. The running test fails when it cannot be written.
std::string WriteTempFile(const std::string& name,
                          const std::function<absl::Status(File* file)>& write);
std::string WriteTempFile(const std::string& name, absl::string_view bytes);
std::string WriteTempTorchFile(const std::string& name, const PyValue& root);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_TESTING_TEMPORARY_FILE_H_
