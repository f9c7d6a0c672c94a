#include "format/v2/codec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/wire_scan.h"
#include "format/v2/fields.h"
#include "format/v2/items.h"
#include "format/v2/limits.h"
#include "format/v2/problem.h"
#include "format/v2/tensor_list.h"
#include "format/v2/unknown_content.h"
#include "format/v2/validate.h"
#include "format/v2/value_digest.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;

constexpr WireLimits kLimits = {kV2MaxElements, kV2MaxNumbers, kV2MaxDepth,
                                kV2MaxRank};

// Lists that are sorted when they are written, so that equal values have equal
// bytes and digests.
template <typename List, typename Key>
absl::Status CheckSorted(Item item, const List& list, Key key) {
  for (int i = 1; i < static_cast<int>(list.size()); ++i) {
    if (key(list[i - 1]) < key(list[i])) continue;
    return v2_internal::Invalid(
        item, absl::StrCat(key(list[i]), " comes twice or out of order"));
  }
  return absl::OkStatus();
}

absl::Status CheckAllSorted(const v2::Manifest& manifest) {
  auto name = [](const auto& message) { return message.name(); };
  auto path = [](const v2::ConfigField& field) { return field.path(); };
  absl::Status status =
      CheckSorted(Item::CONFIG, manifest.config().fields(), path);
  status.Update(CheckSorted(Item::CONFIG, manifest.config().recorded(), path));
  status.Update(CheckSorted(Item::USER, manifest.user(), name));
  status.Update(
      CheckSorted(Item::EVAL, manifest.evaluation().last().metrics(), name));
  status.Update(CheckSorted(Item::SCHED_DEFINITION,
                            manifest.schedule().parameters(), name));
  return status;
}

absl::Status CheckSortedNames(const Snapshot& snapshot) {
  auto itself = [](const std::string& name) { return name; };
  absl::Status status;
  if (snapshot.frozen.has_value()) {
    status = CheckSorted(Item::FROZEN_FLAGS, *snapshot.frozen, itself);
  }
  if (snapshot.mode.has_value()) {
    status.Update(
        CheckSorted(Item::MODE, snapshot.mode->modules_in_other_mode, itself));
  }
  return status;
}

absl::Status CheckFeatures(const v2::Manifest& manifest) {
  // Version 2.0 has none.
  if (manifest.required_features().empty()) return absl::OkStatus();
  return MakeRefusal(
      Refusal::UNKNOWN_FEATURE,
      absl::StrCat("the file needs the feature \"",
                   manifest.required_features(0),
                   "\", which this program does not know: use a newer one"));
}

absl::Status CheckMigrationsAndDigests(const v2::Manifest& manifest) {
  if (manifest.digest_algorithm() != v2::XXH3_CHUNKS_64K) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat("digest algorithm ", manifest.digest_algorithm(),
                     " is not one of format version 2"));
  }
  if (manifest.value_digest().size() != 16) {
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat("value digest: expected 16 bytes, found ",
                                    manifest.value_digest().size()));
  }
  if (!manifest.has_tensors()) {
    return MakeRefusal(Refusal::CORRUPT, "there is no tensor table");
  }
  return absl::OkStatus();
}

std::vector<int64_t> SignedShape(const TableEntry& entry) {
  return {entry.shape.begin(), entry.shape.end()};
}

absl::Status PlaceTensors(const std::vector<TableEntry>& tensors,
                          Snapshot* snapshot) {
  TensorPlacer placer(snapshot);
  for (const TableEntry& entry : tensors) {
    absl::Status status = placer.Place(
        entry, Tensor::Elsewhere(entry.part.empty() ? entry.name : entry.part,
                                 entry.dtype, SignedShape(entry), entry.order));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// A later minor version may record more items; they are no business of this
// one.
void DropUnknownRecords(v2::Manifest* manifest) {
  auto* records = manifest->mutable_inventory();
  records->erase(std::remove_if(records->begin(), records->end(),
                                [](const v2::ItemRecord& record) {
                                  return record.item() > Item::WITNESS;
                                }),
                 records->end());
}

absl::Status CheckTies(const std::vector<TableEntry>& tensors,
                       const Snapshot& snapshot) {
  bool any = false;
  for (const TableEntry& entry : tensors) any |= entry.alias != 0;
  const bool saved = IsSavedV2(snapshot, Item::MODEL_TIES);
  if (any == saved) return absl::OkStatus();
  if (saved) {
    return v2_internal::Missing(Item::MODEL_TIES,
                                "recorded as SAVED, but no two tensors of the "
                                "model are one storage");
  }
  return v2_internal::Invalid(
      Item::MODEL_TIES,
      absl::StrCat("tensors are one storage, but the record says ",
                   TextOf(snapshot.Find(Item::MODEL_TIES)->presence)));
}

}  // namespace

absl::StatusOr<ManifestV2> DecodeV2(absl::string_view manifest,
                                    uint32_t minor) {
  absl::Status status = ScanWire(
      manifest, v2::Manifest::descriptor(),
      minor > kV2Minor ? UnknownFields::kAllow : UnknownFields::kRefuse,
      kLimits);
  if (!status.ok()) return status;
  ManifestV2 decoded;
  if (!decoded.message.ParseFromArray(manifest.data(),
                                      static_cast<int>(manifest.size()))) {
    return MakeRefusal(Refusal::CORRUPT,
                       "the manifest is not a message of format version 2");
  }
  // First of all: with an unknown feature other rules may not hold.
  status = CheckFeatures(decoded.message);
  if (!status.ok()) return status;
  Snapshot& snapshot = decoded.snapshot;
  if (minor > kV2Minor) {
    snapshot.unknown = UnknownContentOf(decoded.message, minor);
    DropUnknownRecords(&decoded.message);
  }
  status = RecordsFromManifest(decoded.message, &snapshot);
  if (status.ok()) status = CheckInventoryV2(snapshot);
  if (status.ok()) status = CheckFieldsV2(decoded.message, snapshot);
  if (status.ok()) status = CheckMigrationsAndDigests(decoded.message);
  if (status.ok()) status = CheckAllSorted(decoded.message);
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<ShardInfo>> shards = DecodeShards(decoded.message);
  if (!shards.ok()) return shards.status();
  absl::StatusOr<std::vector<TableEntry>> tensors =
      DecodeTable(decoded.message.tensors(), *shards);
  if (!tensors.ok()) return tensors.status();
  decoded.shards = *std::move(shards);
  decoded.tensors = *std::move(tensors);
  decoded.value_digest = ValueDigest(decoded.message, decoded.tensors);
  // A later minor version may count more to the value.
  if (minor <= kV2Minor &&
      decoded.value_digest != decoded.message.value_digest()) {
    return MakeRefusal(
        Refusal::CORRUPT,
        absl::StrCat("value digest: expected ",
                     absl::BytesToHexString(decoded.value_digest), ", found ",
                     absl::BytesToHexString(decoded.message.value_digest())));
  }
  if (minor > kV2Minor) decoded.value_digest = decoded.message.value_digest();
  // Reading the values may touch the message; the one that is handed out must
  // stay as it was.
  v2::Manifest scratch = decoded.message;
  status = ValuesFromManifest(&scratch, &snapshot);
  if (status.ok()) status = CheckSortedNames(snapshot);
  if (status.ok()) status = PlaceTensors(decoded.tensors, &snapshot);
  if (status.ok()) status = CheckTies(decoded.tensors, snapshot);
  if (status.ok()) status = ValidateForV2(snapshot);
  if (!status.ok()) return status;
  return decoded;
}

absl::StatusOr<DraftV2> DraftOf(const Snapshot& snapshot) {
  absl::Status status = CheckInventoryV2(snapshot);
  if (status.ok()) status = ValidateForV2(snapshot);
  if (!status.ok()) return status;
  DraftV2 draft;
  absl::StatusOr<std::vector<TableEntry>> tensors =
      EntriesOf(snapshot, ListTensors(snapshot));
  if (!tensors.ok()) return tensors.status();
  draft.tensors = *std::move(tensors);
  status = ToManifest(snapshot, &draft.message);
  if (status.ok()) status = CheckFieldsV2(draft.message, snapshot);
  if (!status.ok()) return status;
  draft.message.set_digest_algorithm(v2::XXH3_CHUNKS_64K);
  if (snapshot.unknown.has_value()) {
    status = PutUnknownContent(*snapshot.unknown, &draft.message);
    if (!status.ok()) return status;
    draft.minor = snapshot.unknown->minor;
    draft.message.set_value_minor(kV2Minor);
  }
  return draft;
}

absl::StatusOr<EncodedV2> EncodeV2(const DraftV2& draft,
                                   const std::vector<ShardInfo>& shards) {
  v2::Manifest message = draft.message;
  EncodeTable(draft.tensors, message.mutable_tensors());
  EncodeShards(shards, &message);
  for (const TableEntry& entry : draft.tensors) {
    absl::Status status = CheckEntry(entry);
    if (!status.ok()) return status;
  }
  absl::Status status = CheckPacking(draft.tensors, shards);
  if (!status.ok()) return status;
  EncodedV2 encoded;
  encoded.value_digest = ValueDigest(message, draft.tensors);
  message.set_value_digest(encoded.value_digest);
  const size_t size = message.ByteSizeLong();
  if (size > kV2MaxManifestBytes) {
    return MakeRefusal(Refusal::LIMIT,
                       absl::StrCat("the manifest would have ", size,
                                    " bytes; format version 2 holds at most ",
                                    kV2MaxManifestBytes));
  }
  // The schema has no maps, so protobuf writes equal messages as equal bytes.
  if (!message.SerializeToString(&encoded.manifest)) {
    return MakeRefusal(Refusal::LIMIT,
                       absl::StrCat("protobuf could not serialise a manifest "
                                    "of ",
                                    size, " bytes"));
  }
  // What the reader refuses is not written: number of elements, UTF-8.
  status = ScanWire(
      encoded.manifest, v2::Manifest::descriptor(),
      draft.minor > kV2Minor ? UnknownFields::kAllow : UnknownFields::kRefuse,
      kLimits);
  if (!status.ok()) {
    return MakeRefusal(RefusalOf(status) == Refusal::LIMIT
                           ? Refusal::LIMIT
                           : Refusal::INVALID_VALUE,
                       status.message());
  }
  return encoded;
}

}  // namespace reprise
