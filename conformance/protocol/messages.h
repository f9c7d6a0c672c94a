// The files of the conformance protocol: Description and RunRequest (one proto3
// JSON message a file) and the JSON text of an Event.
//
//   absl::StatusOr<RunRequest> request = ReadRequest(path);
//   absl::Status status = CheckRequest(OwnDescription(), *request);
//   if (!status.ok()) return ExitCodeFor(status);   // format/refusal.h
//
// Field names are written as in the schema ("run_folder"); the camel case of
// proto3 JSON ("runFolder") is read too. Unknown fields, and enum values of
// later versions in optional places, are ignored. Thread-safe.
#ifndef REPRISE_CONFORMANCE_PROTOCOL_MESSAGES_H_
#define REPRISE_CONFORMANCE_PROTOCOL_MESSAGES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise::conformance {

using Description = v1::Description;
using RunRequest = v1::RunRequest;
using Event = v1::Event;

// The protocol that this tree speaks.
inline constexpr absl::string_view kProtocolVersion = "1";

// One line of JSON without the newline.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);
// Errors: InvalidArgument with the parser's words.
absl::Status FromJson(absl::string_view json,
                      google::protobuf::Message* message);

// Writes replace the file (temporary name, then rename), so that a reader never
// sees half of one. Errors name the path; NotFound when there is no such file.
absl::Status WriteDescription(const std::string& path,
                              const Description& description);
absl::StatusOr<Description> ReadDescription(const std::string& path);
absl::Status WriteRequest(const std::string& path, const RunRequest& request);
absl::StatusOr<RunRequest> ReadRequest(const std::string& path);

// The testee says that it has it.
bool HasFeature(const Description& description, absl::string_view feature);

// What every testee must check before it does anything. Errors: Unimplemented
// (exit code 10) for another protocol version, an unknown workload, a required
// feature that is not described, or a field that needs a feature that is not;
// InvalidArgument (exit code 2) for a request without run_folder or events, a
// relative one, or steps, save_every or accumulation of zero.
absl::Status CheckRequest(const Description& description,
                          const RunRequest& request);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_PROTOCOL_MESSAGES_H_
