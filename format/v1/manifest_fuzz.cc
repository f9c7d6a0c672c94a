// Any bytes as a manifest of version 1 whose digest is right, as an attacker
// would make it: refused with a type, or a snapshot that holds every rule and
// comes back when it is written again. An envelope in front is left out, so
// that whole files serve as seeds.
#include <string>

#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/fuzz_driver.h"
#include "format/v1/codec.h"
#include "format/v1/validate.h"
#include "format/v1/wire_scan.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {
namespace {

void Check(absl::string_view manifest, uint32_t minor) {
  const absl::Status scanned =
      ScanWire(manifest, checkpoint::v1::Checkpoint::descriptor(),
               minor == 0 ? UnknownFields::kRefuse : UnknownFields::kAllow);
  const absl::StatusOr<Snapshot> decoded =
      DecodeV1(std::string(manifest), minor);
  if (!scanned.ok()) {
    const Refusal refusal = RefusalOf(scanned);
    FUZZ_EXPECT(refusal == Refusal::CORRUPT || refusal == Refusal::LIMIT,
                "a refusal of a kind that the wire cannot have");
    FUZZ_EXPECT(RefusalOf(decoded.status()) == refusal,
                "the codec does not say what the scan found");
    return;
  }
  if (!decoded.ok()) {
    const Refusal refusal = RefusalOf(decoded.status());
    FUZZ_EXPECT(refusal == Refusal::CORRUPT || refusal == Refusal::LIMIT ||
                    refusal == Refusal::MISSING_ITEM ||
                    refusal == Refusal::INVALID_VALUE,
                "a refusal of a kind that a manifest cannot have");
    return;
  }
  FUZZ_EXPECT(ValidateForV1(*decoded).ok(),
              "a snapshot that breaks a rule was handed out");
  const absl::StatusOr<std::string> encoded = EncodeV1(*decoded);
  FUZZ_EXPECT(encoded.ok(), "what was read cannot be written");
  const absl::StatusOr<Snapshot> again = DecodeV1(*encoded);
  FUZZ_EXPECT(again.ok(), "what was written cannot be read");
  const absl::StatusOr<std::string> twice = EncodeV1(*again);
  FUZZ_EXPECT(twice.ok() && *twice == *encoded,
              "equal snapshots give other bytes");
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::string_view manifest(reinterpret_cast<const char*>(data), size);
  if (reprise::DecodeEnvelope(manifest, size).ok()) {
    manifest.remove_prefix(reprise::kEnvelopeSize);
  }
  reprise::Check(manifest, 0);
  reprise::Check(manifest, 1);
  return 0;
}
