// Reading and writing one manifest.ckpt: envelope and manifest bytes.
//
// Example:
//
//   auto file = reprise::ReadManifestFile(FileSystem::Real(), path);
//   if (!file.ok()) return file.status();   // typed, names the file
//   Decode(file->envelope.major, file->manifest);
//
// Thread-safe.
#ifndef REPRISE_FORMAT_MANIFEST_FILE_H_
#define REPRISE_FORMAT_MANIFEST_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/envelope.h"
#include "format/io/file_system.h"

namespace reprise {

struct ManifestFile {
  Envelope envelope;
  std::string manifest;  // its digest is the envelope's
};

// Reads `path` whole and checks everything down to the digest. Memory: the size
// of the file, and no more than the file really has. Errors name the file.
absl::StatusOr<ManifestFile> ReadManifestFile(FileSystem* file_system,
                                              const std::string& path);

// Reads the envelope only and checks magic, length and CRC, not the version.
absl::StatusOr<Envelope> ReadEnvelope(FileSystem* file_system,
                                      const std::string& path);

// Creates `path` (read-only from the start), writes envelope and `manifest`,
// syncs and closes. Returns the digest. REQUIRES: manifest is within the limit
// of `major`. On error a partial file may be left for the caller to remove.
absl::StatusOr<std::string> WriteManifestFile(FileSystem* file_system,
                                              const std::string& path,
                                              uint32_t major, uint32_t minor,
                                              absl::string_view manifest);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MANIFEST_FILE_H_
