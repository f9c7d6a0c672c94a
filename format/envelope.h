// The envelope: the first 48 bytes of every manifest.ckpt, of every version,
// for ever. All integers are little-endian.
//
//   offset  size  field
//        0     8  magic  D2 52 50 52 0D 0A 1A 0A
//        8     4  envelope length, 48
//       12     4  format major
//       16     4  format minor
//       20     8  manifest length: bytes that follow the envelope
//       28    16  manifest digest: XXH3-128, xxHash's canonical (big-endian)
//       44     4  CRC-32 (zlib's) of the 44 bytes before it
//
// Checks come in one order, so that each kind of damage has its own name and a
// newer file is never called corrupt: magic, envelope length, CRC, version,
// manifest length, digest.
//
// Example (a test as well):
//
//   std::string file = reprise::EncodeEnvelope(1, 0, manifest);
//   file += manifest;
//   auto opened = reprise::OpenEnvelope(file, file.size());
//   if (!opened.ok()) return opened.status();
//   absl::Status intact = reprise::CheckManifest(*opened, manifest);
//
// Thread-safe.
#ifndef REPRISE_FORMAT_ENVELOPE_H_
#define REPRISE_FORMAT_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

constexpr size_t kEnvelopeSize = 48;

struct Envelope {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t manifest_length = 0;
  std::string manifest_digest;  // 16 bytes
};

// XXH3-128 of `bytes`, canonical form, 16 bytes.
std::string ManifestDigest(absl::string_view bytes);

// The 48 bytes that announce `manifest`.
std::string EncodeEnvelope(uint32_t major, uint32_t minor,
                           absl::string_view manifest);
// The 48 bytes for these fields, whatever they say.
std::string EncodeEnvelope(const Envelope& envelope);

// Checks magic, envelope length and CRC, and says nothing about the version.
// `head` is the start of the file: at least its first 48 bytes, or all of it
// when it is shorter; 512 bytes make for better messages. Errors:
// NOT_A_CHECKPOINT saying what the file seems to be, TRUNCATED, CORRUPT.
absl::StatusOr<Envelope> DecodeEnvelope(absl::string_view head,
                                        uint64_t file_size);

// DecodeEnvelope, then version and manifest length against `file_size`.
// Errors: as above; TOO_NEW; LIMIT; TRUNCATED with expected and found size;
// CORRUPT for bytes after the manifest.
absl::StatusOr<Envelope> OpenEnvelope(absl::string_view head,
                                      uint64_t file_size);

// Checks the manifest's digest. Error: CORRUPT.
absl::Status CheckManifest(const Envelope& envelope,
                           absl::string_view manifest);

}  // namespace reprise

#endif  // REPRISE_FORMAT_ENVELOPE_H_
