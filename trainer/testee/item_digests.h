// Digests of the inventory's items, as a testee gives them.
#ifndef REPRISE_TRAINER_TESTEE_ITEM_DIGESTS_H_
#define REPRISE_TRAINER_TESTEE_ITEM_DIGESTS_H_

#include <string>
#include <vector>

#include "format/snapshot.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise {

// One entry for each item that `snapshot` holds (SAVED or EMPTY). Equal digests
// mean equal values; scalars carry their value too.
std::vector<conformance::v1::ItemDigest> DigestItems(const Snapshot& snapshot);

// XXH3-64 of names, shapes and bytes, 16 hexadecimal digits.
std::string DigestOf(const std::vector<Tensor>& tensors);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTEE_ITEM_DIGESTS_H_
