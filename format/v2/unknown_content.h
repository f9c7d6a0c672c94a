// What a manifest of a later minor version has and this program does not know:
// taken out when it is read, and put back where it was when the same step is
// saved again, so that a tool that rewrites a checkpoint loses nothing.
//
// Thread-safe.
#ifndef REPRISE_FORMAT_V2_UNKNOWN_CONTENT_H_
#define REPRISE_FORMAT_V2_UNKNOWN_CONTENT_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {

// Unknown fields, at any depth, and records of unknown items; nullopt when
// there is nothing of the kind. `minor` is the file's.
std::optional<UnknownContent> UnknownContentOf(
    const checkpoint::v2::Manifest& message, uint32_t minor);

// Puts it back. Elements of lists are found by their name. Error: INVALID_VALUE
// when it is of another step than the message (it would be out of date), or
// when what it belongs to is not there.
absl::Status PutUnknownContent(const UnknownContent& content,
                               checkpoint::v2::Manifest* message);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_UNKNOWN_CONTENT_H_
