// Any bytes as a manifest of version 2 whose digests are right, as an attacker
// would make it: refused with a type, or rows and values that hold every rule
// and come back when they are written again. An envelope in front is left out,
// so that whole files serve as seeds.
#include <string>

#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/full_snapshot.h"
#include "format/testing/fuzz_driver.h"
#include "format/v1/wire_scan.h"
#include "format/v2/codec.h"
#include "format/v2/items.h"
#include "format/v2/validate.h"

namespace reprise {
namespace {

void CheckWrittenAgain(const ManifestV2& decoded) {
  DraftV2 draft;
  draft.message = decoded.message;
  draft.message.clear_tensors();
  draft.message.clear_shards();
  draft.tensors = decoded.tensors;
  const absl::StatusOr<EncodedV2> encoded = EncodeV2(draft, decoded.shards);
  FUZZ_EXPECT(encoded.ok(), "what was read cannot be written");
  FUZZ_EXPECT(encoded->value_digest == decoded.value_digest,
              "the same state has another value digest");
  const absl::StatusOr<ManifestV2> again = DecodeV2(encoded->manifest);
  FUZZ_EXPECT(again.ok(), "what was written cannot be read");
  FUZZ_EXPECT(again->tensors.size() == decoded.tensors.size() &&
                  again->value_digest == decoded.value_digest,
              "what was written reads as something else");
}

void Check(const std::string& manifest, uint32_t minor) {
  const absl::StatusOr<ManifestV2> decoded = DecodeV2(manifest, minor);
  if (!decoded.ok()) {
    const Refusal refusal = RefusalOf(decoded.status());
    FUZZ_EXPECT(refusal == Refusal::CORRUPT || refusal == Refusal::LIMIT ||
                    refusal == Refusal::MISSING_ITEM ||
                    refusal == Refusal::INVALID_VALUE ||
                    refusal == Refusal::UNKNOWN_FEATURE,
                "a refusal of a kind that a manifest cannot have");
    return;
  }
  FUZZ_EXPECT(CheckInventoryV2(decoded->snapshot).ok() &&
                  ValidateForV2(decoded->snapshot).ok(),
              "a snapshot that breaks a rule was handed out");
  for (const TableEntry& entry : decoded->tensors) {
    FUZZ_EXPECT(CheckEntry(entry).ok(), "a row that breaks a rule");
    for (const Extent& extent : entry.extents) {
      FUZZ_EXPECT(extent.shard < decoded->shards.size() &&
                      extent.offset + extent.length <=
                          decoded->shards[extent.shard].size,
                  "an extent outside its shard");
    }
  }
  if (minor == 0) CheckWrittenAgain(*decoded);
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (reprise::DecodeEnvelope(bytes, size).ok()) {
    bytes.remove_prefix(reprise::kEnvelopeSize);
  }
  const std::string manifest(bytes);
  reprise::Check(manifest, 0);
  reprise::Check(manifest, 1);
  // With the value digest that belongs to it, which changes of bytes never hit.
  // protobuf complains aloud about what is no text.
  if (!reprise::ScanWire(manifest,
                         reprise::checkpoint::v2::Manifest::descriptor(),
                         reprise::UnknownFields::kAllow, {1 << 17, 1 << 25, 8})
           .ok()) {
    return 0;
  }
  const std::string repaired =
      reprise::EditedManifestV2(manifest, [](auto*) {});
  reprise::Check(repaired, 0);
  return 0;
}
