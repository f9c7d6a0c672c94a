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

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "format/v1/limits.h"
#include "google/protobuf/descriptor.h"

namespace reprise {

enum class UnknownFields {
  kRefuse,  // every field of this version is known
  kAllow,   // a later minor version has added some
};

// What one manifest may hold at most.
struct WireLimits {
  // Submessages, repeated strings and unknown fields, together.
  uint64_t elements = kV1MaxElements;
  // Repeated numbers, together; 0: `numbers_of_a_message` counts.
  uint64_t numbers = 0;
  // Messages inside messages.
  int depth = kV1MaxDepth;
  // Elements of the repeated numbers of one message.
  uint64_t numbers_of_a_message = kV1MaxRank;
};

// Checks that `bytes` are a well-formed message of `type` within the limits of
// `limits` (those of version 1 unless given): wire types fit the schema,
// lengths stay inside, singular fields come once, strings are UTF-8. Errors:
// CORRUPT or LIMIT with the offset in `bytes`.
absl::Status ScanWire(absl::string_view bytes,
                      const google::protobuf::Descriptor* type,
                      UnknownFields unknown_fields,
                      const WireLimits& limits = WireLimits());

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_WIRE_SCAN_H_
