#include "conformance/runner/json_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "conformance/protocol/messages.h"
#include "google/protobuf/util/json_util.h"

namespace reprise::conformance {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;

}  // namespace

absl::Status WriteJson(const google::protobuf::Message& message,
                       const std::string& path) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!printed.ok()) {
    return absl::InternalError(absl::StrCat(
        "cannot print ", message.GetTypeName(), " as JSON for ", path, ": ",
        std::string(printed.message().data(), printed.message().size())));
  }
  const std::string temporary = absl::StrCat(path, ".tmp-", getpid());
  {
    std::ofstream file(temporary, std::ios::trunc | std::ios::binary);
    file << text;
    file.flush();
    if (!file) {
      unlink(temporary.c_str());
      return absl::InternalError(
          absl::StrCat("cannot write ", temporary, ": ", strerror(errno)));
    }
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return absl::InternalError(absl::StrCat("cannot rename ", temporary, " to ",
                                            path, ": ", strerror(error)));
  }
  return absl::OkStatus();
}

absl::Status ReadJson(const std::string& path,
                      google::protobuf::Message* message) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  }
  if (file.tellg() > std::streamoff(kMaxBytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has ", std::streamoff(file.tellg()),
                     " bytes, more than the limit of ", kMaxBytes));
  }
  file.seekg(0);
  std::ostringstream text;
  text << file.rdbuf();
  const absl::Status parsed = FromJson(text.str(), message);
  if (parsed.ok()) return parsed;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", parsed.message()));
}

}  // namespace reprise::conformance
