// The value digest of a checkpoint: equal training state, equal digest,
// whatever the bytes of the manifest, the threads and the packing of shards
// are. The encoding is in spec/SPEC.md, rules VALUE-1 to VALUE-4.
#ifndef REPRISE_FORMAT_V2_VALUE_DIGEST_H_
#define REPRISE_FORMAT_V2_VALUE_DIGEST_H_

#include <string>
#include <vector>

#include "format/v2/tensor_table.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {

// 16 bytes. `manifest` has the records, sorted by item, and all values;
// `tensors` the table with roots. Thread-safe.
std::string ValueDigest(const checkpoint::v2::Manifest& manifest,
                        const std::vector<TableEntry>& tensors);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_VALUE_DIGEST_H_
