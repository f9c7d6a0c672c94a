#include "conformance/protocol/messages.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/json_util.h"

namespace reprise::conformance {
namespace {

template <typename List, typename Value>
bool Contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

absl::Status WriteMessage(const std::string& path,
                          const google::protobuf::Message& message) {
  absl::StatusOr<std::string> json = ToJson(message);
  if (!json.ok()) return json.status();
  const std::string temporary = path + ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << *json << "\n";
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    return absl::InternalError(
        absl::StrCat(path, ": could not be written: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

template <typename Message>
absl::StatusOr<Message> ReadMessage(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return absl::NotFoundError(
        absl::StrCat(path, ": could not be opened: ", std::strerror(errno)));
  }
  std::ostringstream text;
  text << in.rdbuf();
  Message message;
  absl::Status status = FromJson(text.str(), &message);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", status.message()));
  }
  return message;
}

absl::Status Needs(const Description& description, absl::string_view feature,
                   absl::string_view field) {
  if (HasFeature(description, feature)) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(description.name(), " does not have the feature \"", feature,
                   "\" that ", field, " needs"));
}

}  // namespace

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(message.GetTypeName(), ": ",
                                            std::string(status.message())));
  }
  return json;
}

absl::Status FromJson(absl::string_view json,
                      google::protobuf::Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  message->Clear();
  auto status = google::protobuf::util::JsonStringToMessage(
      {json.data(), json.size()}, message, options);
  if (!status.ok()) {
    // What follows the first line shows the text itself.
    const std::string why(status.message());
    return absl::InvalidArgumentError(
        absl::StrCat("expected a ", message->GetTypeName(),
                     " in proto3 JSON: ", why.substr(0, why.find('\n'))));
  }
  return absl::OkStatus();
}

absl::Status WriteDescription(const std::string& path,
                              const Description& description) {
  return WriteMessage(path, description);
}

absl::StatusOr<Description> ReadDescription(const std::string& path) {
  return ReadMessage<Description>(path);
}

absl::Status WriteRequest(const std::string& path, const RunRequest& request) {
  return WriteMessage(path, request);
}

absl::StatusOr<RunRequest> ReadRequest(const std::string& path) {
  return ReadMessage<RunRequest>(path);
}

bool HasFeature(const Description& description, absl::string_view feature) {
  return Contains(description.features(), feature);
}

absl::Status CheckRequest(const Description& description,
                          const RunRequest& request) {
  if (request.protocol() != kProtocolVersion) {
    return absl::UnimplementedError(
        absl::StrCat("protocol: expected \"", kProtocolVersion, "\", found \"",
                     request.protocol(), "\""));
  }
  for (const auto& [name, path] : {std::pair<const char*, const std::string&>(
                                       "run_folder", request.run_folder()),
                                   {"events", request.events()}}) {
    if (!absl::StartsWith(path, "/")) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": expected an absolute path, found \"", path, "\""));
    }
  }
  if ((request.has_steps() && request.steps() == 0) ||
      (request.has_save_every() && request.save_every() == 0) ||
      (request.has_accumulation() && request.accumulation() == 0)) {
    return absl::InvalidArgumentError(
        "steps, save_every and accumulation: expected at least 1, found 0");
  }
  if (!request.workload().empty() &&
      !Contains(description.workloads(), request.workload())) {
    return absl::UnimplementedError(
        absl::StrCat("workload: expected one of ",
                     absl::StrJoin(description.workloads(), ", "), "; found \"",
                     request.workload(), "\""));
  }
  for (const std::string& feature : request.required_features()) {
    absl::Status status = Needs(description, feature, "required_features");
    if (!status.ok()) return status;
  }
  absl::Status status;
  if (request.inject_overflow_size() > 0) {
    status.Update(Needs(description, "inject_overflow", "inject_overflow"));
  }
  if (request.accumulation() > 1) {
    status.Update(Needs(description, "accumulation", "accumulation"));
  }
  if (!request.precision().empty()) {
    status.Update(Needs(description, "precision", "precision"));
  }
  for (const v1::HoldAt& hold : request.hold_at()) {
    if (!Contains(description.hold_points(), static_cast<int>(hold.point()))) {
      status.Update(absl::UnimplementedError(
          absl::StrCat("hold_at: ", v1::Point_Name(hold.point()),
                       " is not among the hold points described")));
    }
  }
  return status;
}

}  // namespace reprise::conformance
