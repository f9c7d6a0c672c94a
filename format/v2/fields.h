// Which field of the version 2 schema holds which value of a snapshot: the one
// description that encoder and decoder share. Tensors are in the table.
#ifndef REPRISE_FORMAT_V2_FIELDS_H_
#define REPRISE_FORMAT_V2_FIELDS_H_

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {

// Every value of `snapshot` but its tensors, into an empty `manifest`. Errors:
// MISSING_ITEM, INVALID_VALUE where values and records disagree.
absl::Status ToManifest(const Snapshot& snapshot,
                        checkpoint::v2::Manifest* manifest);

// The identity, position and records of `manifest`, which everything else is
// checked against. Errors: MISSING_ITEM.
absl::Status RecordsFromManifest(const checkpoint::v2::Manifest& manifest,
                                 Snapshot* snapshot);

// All other values, into a snapshot that has the records. States of parameters
// get their steps; their moments are in the table. REQUIRES: CheckFieldsV2
// holds. Errors: CORRUPT, INVALID_VALUE, MISSING_ITEM.
absl::Status ValuesFromManifest(checkpoint::v2::Manifest* manifest,
                                Snapshot* snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_FIELDS_H_
