// Any bytes as rules, and any bytes as a manifest of version 2, before a
// rename: both are refused with a type, or the new manifest is one that version
// 2 reads, with every tensor's digest as it was.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/envelope.h"
#include "format/migrate/in_memory_v2.h"
#include "format/migrate/rename_v2.h"
#include "format/refusal.h"
#include "format/testing/full_snapshot.h"
#include "format/testing/fuzz_driver.h"
#include "format/v1/wire_scan.h"

namespace reprise {
namespace {

constexpr char kDigest[] = "source digest 16";

std::multiset<std::string> Tensors(const ManifestV2& manifest) {
  std::multiset<std::string> tensors;
  for (const TableEntry& entry : manifest.tensors) {
    tensors.insert(absl::StrCat(entry.item, entry.part, entry.root));
  }
  return tensors;
}

void Check(const ManifestV2& source, const RenameRules& rules) {
  const absl::StatusOr<RenamedV2> renamed = RenameV2(source, kDigest, rules);
  if (!renamed.ok()) {
    const Refusal refusal = RefusalOf(renamed.status());
    FUZZ_EXPECT(
        refusal == Refusal::LIMIT || refusal == Refusal::INVALID_VALUE ||
            refusal == Refusal::UNKNOWN_FEATURE ||
            renamed.status().code() == absl::StatusCode::kInvalidArgument,
        "a refusal of a kind that a rename cannot have");
    return;
  }
  FUZZ_EXPECT(!renamed->names.empty(), "rules that rename nothing were taken");
  const absl::StatusOr<ManifestV2> after = DecodeV2(renamed->manifest);
  FUZZ_EXPECT(after.ok(), "what was renamed cannot be read");
  FUZZ_EXPECT(Tensors(*after) == Tensors(source), "a tensor changed");
}

const ManifestV2& Full() {
  static const auto* const manifest = [] {
    const absl::StatusOr<InMemoryV2> in_memory =
        ToV2InMemory(FullSnapshotInStep(60, 1), {});
    FUZZ_EXPECT(in_memory.ok(), "the full snapshot cannot be written");
    absl::StatusOr<ManifestV2> decoded = DecodeV2(in_memory->manifest);
    FUZZ_EXPECT(decoded.ok(), "the full snapshot cannot be read");
    return new ManifestV2(*std::move(decoded));
  }();
  return *manifest;
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<reprise::RenameRules> rules =
      reprise::RenameRules::Parse(bytes);
  if (rules.ok()) reprise::Check(reprise::Full(), *rules);
  if (reprise::DecodeEnvelope(bytes, size).ok()) {
    bytes.remove_prefix(reprise::kEnvelopeSize);
  }
  // protobuf complains aloud about what is no text.
  if (!reprise::ScanWire(bytes, reprise::checkpoint::v2::Manifest::descriptor(),
                         reprise::UnknownFields::kAllow, {1 << 17, 1 << 25, 8})
           .ok()) {
    return 0;
  }
  const std::string manifest =
      reprise::EditedManifestV2(std::string(bytes), [](auto*) {});
  const absl::StatusOr<reprise::ManifestV2> decoded =
      reprise::DecodeV2(manifest, 1);
  if (!decoded.ok()) return 0;
  for (const char* text :
       {"^ -> a.", "e -> ", "^(.)(.) -> \\2\\1", "w$ -> bias\nb -> w"}) {
    reprise::Check(*decoded, *reprise::RenameRules::Parse(text));
  }
  return 0;
}
