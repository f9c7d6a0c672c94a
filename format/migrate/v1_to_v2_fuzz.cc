// Any bytes as a manifest of version 1: where its reader takes them, the step
// to version 2 refuses with a type, or gives a checkpoint that version 2 reads,
// with the same tensors and no item that became not applicable.
#include <string>

#include "format/envelope.h"
#include "format/migrate/in_memory_v2.h"
#include "format/migrate/unknown_v1.h"
#include "format/migrate/v1_to_v2.h"
#include "format/refusal.h"
#include "format/testing/full_snapshot.h"
#include "format/testing/fuzz_driver.h"
#include "format/v1/codec.h"

namespace reprise {
namespace {

void ExpectTyped(const absl::Status& status) {
  const Refusal refusal = RefusalOf(status);
  FUZZ_EXPECT(refusal == Refusal::CORRUPT || refusal == Refusal::LIMIT ||
                  refusal == Refusal::MISSING_ITEM ||
                  refusal == Refusal::INVALID_VALUE,
              "a refusal of a kind that a migration cannot have");
}

void Check(const std::string& manifest, uint32_t minor) {
  const absl::StatusOr<Snapshot> v1 = DecodeV1(manifest, minor);
  if (!v1.ok()) return;  // format/v1/manifest_fuzz.cc
  const V1Source source = {ManifestDigest(manifest),
                           UnknownContentOfV1(manifest, minor)};
  const absl::StatusOr<Snapshot> v2 = MigrateV1ToV2(*v1, source);
  if (!v2.ok()) return ExpectTyped(v2.status());
  for (const ItemRecord& record : v2->inventory) {
    const ItemRecord* before = v1->Find(record.item);
    FUZZ_EXPECT(record.presence != Presence::PRESENCE_NOT_APPLICABLE ||
                    (before != nullptr &&
                     before->presence == Presence::PRESENCE_NOT_APPLICABLE),
                "an item became not applicable");
    FUZZ_EXPECT(before == nullptr ||
                    before->presence != Presence::PRESENCE_SAVED ||
                    record.presence == Presence::PRESENCE_SAVED ||
                    record.item == Item::CLIP,
                "an item that was saved is lost");
  }
  const absl::StatusOr<InMemoryV2> in_memory = ToV2InMemory(*v2, {});
  if (!in_memory.ok()) return ExpectTyped(in_memory.status());
  const absl::StatusOr<Snapshot> read = in_memory->Read();
  FUZZ_EXPECT(read.ok(), "what was migrated cannot be read");
  FUZZ_EXPECT(TensorDifference(*v1, *read).empty(), "a tensor changed");
  const absl::StatusOr<InMemoryV2> again = ToV2InMemory(*read, {});
  FUZZ_EXPECT(again.ok() && again->manifest == in_memory->manifest,
              "what was read is written as something else");
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::string_view manifest(reinterpret_cast<const char*>(data), size);
  if (reprise::DecodeEnvelope(manifest, size).ok()) {
    manifest.remove_prefix(reprise::kEnvelopeSize);
  }
  reprise::Check(std::string(manifest), 0);
  reprise::Check(std::string(manifest), 1);
  return 0;
}
