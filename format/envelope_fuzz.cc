// Any bytes as a file: the envelope is refused with a type, or is exactly what
// the writer would have written.
#include <string>

#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/fuzz_driver.h"

namespace reprise {
namespace {

void ExpectTyped(const absl::Status& status) {
  const Refusal refusal = RefusalOf(status);
  FUZZ_EXPECT(refusal == Refusal::NOT_A_CHECKPOINT ||
                  refusal == Refusal::TRUNCATED ||
                  refusal == Refusal::CORRUPT || refusal == Refusal::TOO_NEW ||
                  refusal == Refusal::LIMIT,
              "a refusal of a kind that an envelope cannot have");
  FUZZ_EXPECT(!status.message().empty(), "a refusal without a word");
}

void Check(absl::string_view file) {
  const absl::StatusOr<Envelope> decoded = DecodeEnvelope(file, file.size());
  const absl::StatusOr<Envelope> opened = OpenEnvelope(file, file.size());
  if (!decoded.ok()) {
    ExpectTyped(decoded.status());
    FUZZ_EXPECT(opened.status() == decoded.status(),
                "the later checks hid what the earlier ones found");
    return;
  }
  FUZZ_EXPECT(EncodeEnvelope(*decoded) == file.substr(0, kEnvelopeSize),
              "what was decoded encodes to other bytes");
  if (!opened.ok()) {
    ExpectTyped(opened.status());
    return;
  }
  const absl::string_view manifest = file.substr(kEnvelopeSize);
  FUZZ_EXPECT(opened->manifest_length == manifest.size(),
              "a length that is not the file's was accepted");
  const absl::Status intact = CheckManifest(*opened, manifest);
  if (!intact.ok()) {
    ExpectTyped(intact);
    return;
  }
  FUZZ_EXPECT(EncodeEnvelope(opened->major, opened->minor, manifest) ==
                  file.substr(0, kEnvelopeSize),
              "the writer announces this manifest otherwise");
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using reprise::EncodeEnvelope;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  reprise::Check(bytes);
  // Random bytes hardly ever have the right checksum: the same fields with one,
  // so that what comes after it is reached too.
  if (size >= reprise::kEnvelopeSize) {
    reprise::Envelope envelope;
    for (int i = 0; i < 4; ++i) {
      envelope.major |= uint32_t{data[12 + i]} << 8 * i;
      envelope.minor |= uint32_t{data[16 + i]} << 8 * i;
    }
    for (int i = 0; i < 8; ++i) {
      envelope.manifest_length |= uint64_t{data[20 + i]} << 8 * i;
    }
    envelope.manifest_digest = std::string(bytes.substr(28, 16));
    std::string file = EncodeEnvelope(envelope);
    file.append(bytes.data() + reprise::kEnvelopeSize,
                size - reprise::kEnvelopeSize);
    reprise::Check(file);
  }
  return 0;
}
