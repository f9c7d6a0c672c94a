// Walks the wire bytes of a protobuf message before it is parsed, so that a few
// hostile bytes cannot become many megabytes of objects.
//
//   absl::Status status = reprise::ScanWire(
//       bytes, reprise::checkpoint::v1::Checkpoint::descriptor(),
//       reprise::UnknownFields::kRefuse);
//
// Memory: constant. Time: proportional to the number of fields; the contents of
// `bytes` fields are skipped. Thread-safe.
#ifndef REPRISE_FORMAT_V1_WIRE_SCAN_H_
#define REPRISE_FORMAT_V1_WIRE_SCAN_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace reprise {

enum class UnknownFields {
  kRefuse,  // every field of this version is known
  kAllow,   // a later minor version has added some
};

// Checks that `bytes` are a well-formed message of `type` within the limits of
// format/v1/limits.h: wire types fit the schema, lengths stay inside, singular
// fields come once, strings are UTF-8. Errors: CORRUPT or LIMIT with the offset
// in `bytes`.
absl::Status ScanWire(absl::string_view bytes,
                      const google::protobuf::Descriptor* type,
                      UnknownFields unknown_fields);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_WIRE_SCAN_H_
