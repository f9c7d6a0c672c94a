// Messages as proto3 JSON files: how the runner talks to a testee and what it
// leaves for the judge.
#ifndef REPRISE_CONFORMANCE_RUNNER_JSON_FILE_H_
#define REPRISE_CONFORMANCE_RUNNER_JSON_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace reprise::conformance {

// Writes `message` to `path`, field names as in the schema, one field a line.
// The file is there whole or not at all (temporary file, rename); it is not
// synced. Errors: Internal, naming the path.
absl::Status WriteJson(const google::protobuf::Message& message,
                       const std::string& path);

// Reads what WriteJson wrote, or anybody's proto3 JSON; fields that the schema
// does not know are ignored. Errors: NotFound; InvalidArgument when it is not
// such a message, naming the path; ResourceExhausted beyond 64 MiB.
absl::Status ReadJson(const std::string& path,
                      google::protobuf::Message* message);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_JSON_FILE_H_
