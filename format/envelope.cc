#include "format/envelope.h"

#include <xxhash.h>
#include <zlib.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/foreign_file.h"
#include "format/little_endian.h"
#include "format/refusal.h"
#include "format/version.h"

namespace reprise {
namespace {

// The first byte is 'R' with the high bit set, which text files do not hold and
// seven-bit transfers clear; CR LF, SUB and LF change when line ends do.
constexpr absl::string_view kMagic("\xd2\x52\x50\x52\x0d\x0a\x1a\x0a", 8);

constexpr size_t kLengthOffset = 8;
constexpr size_t kMajorOffset = 12;
constexpr size_t kMinorOffset = 16;
constexpr size_t kManifestLengthOffset = 20;
constexpr size_t kDigestOffset = 28;
constexpr size_t kDigestSize = 16;
constexpr size_t kCrcOffset = 44;

uint32_t Crc(absl::string_view bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
            static_cast<uInt>(bytes.size())));
}

// Whether the envelope is whole once the right magic is put in.
bool OnlyMagicIsDamaged(absl::string_view head) {
  if (head.size() < kEnvelopeSize) return false;
  std::string repaired(head.substr(0, kEnvelopeSize));
  repaired.replace(0, kMagic.size(), kMagic.data(), kMagic.size());
  return LoadLittleEndian<uint32_t>(repaired, kLengthOffset) == kEnvelopeSize &&
         LoadLittleEndian<uint32_t>(repaired, kCrcOffset) ==
             Crc(absl::string_view(repaired).substr(0, kCrcOffset));
}

absl::Status WrongMagic(absl::string_view head) {
  if (OnlyMagicIsDamaged(head)) {
    return MakeRefusal(
        Refusal::CORRUPT,
        absl::StrCat("offset 0: magic damaged: expected ",
                     absl::BytesToHexString(kMagic), ", found ",
                     absl::BytesToHexString(head.substr(0, kMagic.size())),
                     "; the rest of the envelope is whole"));
  }
  for (absl::string_view changed :
       {absl::string_view("\xd2RPR\x0a\x1a\x0a"),
        absl::string_view("\xd2RPR\x0d\x0d\x0a\x1a"),
        absl::string_view("\x52RPR\x0d\x0a\x1a\x0a")}) {
    if (absl::StartsWith(head, changed)) {
      return MakeRefusal(Refusal::CORRUPT,
                         "offset 0: magic changed by a text-mode transfer "
                         "(line ends or high bits); copy the file as binary");
    }
  }
  return MakeRefusal(
      Refusal::NOT_A_CHECKPOINT,
      absl::StrCat("not a Reprise manifest: it begins with ",
                   absl::BytesToHexString(head.substr(0, kMagic.size())),
                   " and seems to be ", DescribeForeignFile(head)));
}

absl::Status TooShort(uint64_t file_size) {
  return MakeRefusal(
      Refusal::TRUNCATED,
      absl::StrCat("expected an envelope of ", kEnvelopeSize, " bytes, found ",
                   file_size,
                   file_size == 0 ? " (the file is empty)" : " in the file"));
}

}  // namespace

std::string ManifestDigest(absl::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical,
                           XXH3_128bits(bytes.data(), bytes.size()));
  return std::string(reinterpret_cast<const char*>(canonical.digest),
                     sizeof(canonical.digest));
}

std::string EncodeEnvelope(uint32_t major, uint32_t minor,
                           absl::string_view manifest) {
  Envelope envelope;
  envelope.major = major;
  envelope.minor = minor;
  envelope.manifest_length = manifest.size();
  envelope.manifest_digest = ManifestDigest(manifest);
  return EncodeEnvelope(envelope);
}

std::string EncodeEnvelope(const Envelope& envelope) {
  std::string out(kMagic);
  AppendLittleEndian<uint32_t>(kEnvelopeSize, &out);
  AppendLittleEndian<uint32_t>(envelope.major, &out);
  AppendLittleEndian<uint32_t>(envelope.minor, &out);
  AppendLittleEndian<uint64_t>(envelope.manifest_length, &out);
  std::string digest = envelope.manifest_digest;
  digest.resize(kDigestSize);
  out += digest;
  AppendLittleEndian<uint32_t>(Crc(out), &out);
  return out;
}

absl::StatusOr<Envelope> DecodeEnvelope(absl::string_view head,
                                        uint64_t file_size) {
  const absl::string_view begin = head.substr(0, kMagic.size());
  if (begin != kMagic.substr(0, begin.size())) return WrongMagic(head);
  if (head.size() < kEnvelopeSize || file_size < kEnvelopeSize) {
    return TooShort(file_size);
  }
  const uint32_t length = LoadLittleEndian<uint32_t>(head, kLengthOffset);
  if (length != kEnvelopeSize) {
    return MakeRefusal(
        Refusal::CORRUPT,
        absl::StrCat("offset ", kLengthOffset, ": envelope length: expected ",
                     kEnvelopeSize, ", found ", length));
  }
  const uint32_t stored = LoadLittleEndian<uint32_t>(head, kCrcOffset);
  const uint32_t computed = Crc(head.substr(0, kCrcOffset));
  if (stored != computed) {
    return MakeRefusal(
        Refusal::CORRUPT,
        absl::StrCat("offset ", kCrcOffset, ": envelope CRC-32: expected ",
                     absl::Hex(computed, absl::kZeroPad8), ", found ",
                     absl::Hex(stored, absl::kZeroPad8)));
  }
  Envelope envelope;
  envelope.major = LoadLittleEndian<uint32_t>(head, kMajorOffset);
  envelope.minor = LoadLittleEndian<uint32_t>(head, kMinorOffset);
  envelope.manifest_length =
      LoadLittleEndian<uint64_t>(head, kManifestLengthOffset);
  envelope.manifest_digest =
      std::string(head.substr(kDigestOffset, kDigestSize));
  return envelope;
}

absl::StatusOr<Envelope> OpenEnvelope(absl::string_view head,
                                      uint64_t file_size) {
  absl::StatusOr<Envelope> envelope = DecodeEnvelope(head, file_size);
  if (!envelope.ok()) return envelope.status();
  if (envelope->major == 0) {
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat("offset ", kMajorOffset,
                                    ": format major 0 was never written"));
  }
  if (envelope->major > kNewestMajor) {
    return MakeRefusal(
        Refusal::TOO_NEW,
        absl::StrCat("offset ", kMajorOffset, ": format version ",
                     envelope->major, ".", envelope->minor,
                     "; this program reads up to major ", kNewestMajor,
                     ": use a newer one"));
  }
  const uint64_t limit = MaxManifestBytes(envelope->major);
  if (envelope->manifest_length > limit) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat("offset ", kManifestLengthOffset, ": manifest length ",
                     envelope->manifest_length, ", at most ", limit,
                     " in format version ", envelope->major));
  }
  const uint64_t expected = kEnvelopeSize + envelope->manifest_length;
  if (file_size < expected) {
    return MakeRefusal(
        Refusal::TRUNCATED,
        absl::StrCat("expected ", expected, " bytes (envelope ", kEnvelopeSize,
                     ", manifest ", envelope->manifest_length, "), found ",
                     file_size));
  }
  if (file_size > expected) {
    return MakeRefusal(
        Refusal::CORRUPT,
        absl::StrCat("offset ", expected, ": ", file_size - expected,
                     " bytes after the manifest; expected the file to end"));
  }
  return envelope;
}

absl::Status CheckManifest(const Envelope& envelope,
                           absl::string_view manifest) {
  const std::string computed = ManifestDigest(manifest);
  if (computed == envelope.manifest_digest) return absl::OkStatus();
  return MakeRefusal(
      Refusal::CORRUPT,
      absl::StrCat("manifest digest (XXH3-128 of the ", manifest.size(),
                   " bytes from offset ", kEnvelopeSize, "): expected ",
                   absl::BytesToHexString(envelope.manifest_digest), ", found ",
                   absl::BytesToHexString(computed)));
}

}  // namespace reprise
