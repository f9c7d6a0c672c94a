// A snapshot to and from the manifest of format version 2, which has everything
// but the bytes of tensors.
//
// Both directions check every rule of spec/SPEC.md for a version 2 manifest;
// nothing is handed out before all of it holds. Equal snapshots give equal
// bytes. Thread-safe.
#ifndef REPRISE_FORMAT_V2_CODEC_H_
#define REPRISE_FORMAT_V2_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/snapshot.h"
#include "format/v2/tensor_table.h"
#include "format/version.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {

struct ManifestV2 {
  // As parsed, with unknown fields, without records of unknown items.
  checkpoint::v2::Manifest message;
  // All values. Tensors have names, dtypes and shapes and no data.
  Snapshot snapshot;
  std::vector<TableEntry> tensors;
  std::vector<ShardInfo> shards;
  std::string value_digest;  // 16 bytes
};

// Of a manifest of version 2.`minor`, whose digest was checked. Errors:
// UNKNOWN_FEATURE naming it; CORRUPT, LIMIT, MISSING_ITEM naming item and
// field, INVALID_VALUE. Memory: 40 times the manifest at most, and 64 MiB.
absl::StatusOr<ManifestV2> DecodeV2(absl::string_view manifest,
                                    uint32_t minor = kV2Minor);

// A manifest that lacks only where the tensors' bytes are and their digests.
// Errors: MISSING_ITEM, INVALID_VALUE, LIMIT.
struct DraftV2 {
  checkpoint::v2::Manifest message;
  std::vector<TableEntry> tensors;  // in the order of ListTensors
  // Above this program's own when unknown content is carried.
  uint32_t minor = kV2Minor;
};
absl::StatusOr<DraftV2> DraftOf(const Snapshot& snapshot);

struct EncodedV2 {
  std::string manifest;
  std::string value_digest;  // 16 bytes
};
// Completes a draft whose tensors have extents and roots by now. Errors: LIMIT;
// CORRUPT when the table breaks its rules.
absl::StatusOr<EncodedV2> EncodeV2(const DraftV2& draft,
                                   const std::vector<ShardInfo>& shards);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_CODEC_H_
