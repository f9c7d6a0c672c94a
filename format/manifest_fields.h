// Some fields of a manifest without the rest of it.
//
// Nothing is verified but the wire bytes that are looked at: a digest needs the
// whole manifest, which of version 1 has all tensors. For a look, never for a
// decision about training. Thread-safe.
#ifndef REPRISE_FORMAT_MANIFEST_FIELDS_H_
#define REPRISE_FORMAT_MANIFEST_FIELDS_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "format/io/file_system.h"
#include "google/protobuf/message.h"

namespace reprise {

// Parses into `message` the fields of these numbers (with a length each) from
// the `length` bytes of its wire form that begin at `offset` of the file; the
// others are passed over by their length and not read. Errors: CORRUPT; LIMIT
// for more than 4 MiB of such fields; TRUNCATED; IO.
absl::Status ReadManifestFields(File* file, uint64_t offset, uint64_t length,
                                const std::set<int>& fields,
                                google::protobuf::Message* message);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MANIFEST_FIELDS_H_
