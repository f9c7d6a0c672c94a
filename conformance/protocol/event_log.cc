#include "conformance/protocol/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace reprise::conformance {

absl::StatusOr<std::unique_ptr<EventWriter>> EventWriter::Open(
    const std::string& path) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": events could not be opened: ", std::strerror(errno)));
  }
  return std::make_unique<EventWriter>(fd);
}

EventWriter::~EventWriter() { close(fd_); }

absl::Status EventWriter::Write(const Event& event) {
  absl::StatusOr<std::string> line = ToJson(event);
  if (!line.ok()) return line.status();
  line->push_back('\n');
  ssize_t written;
  do {
    written = write(fd_, line->data(), line->size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line->size())) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "an event of ", line->size(), " bytes was not written whole: ",
      written < 0 ? std::strerror(errno) : absl::StrCat(written, " bytes")));
}

EventLog ParseEvents(absl::string_view text) {
  EventLog log;
  uint64_t line_number = 0;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != absl::string_view::npos;
       begin = end + 1) {
    ++line_number;
    absl::string_view line =
        absl::StripAsciiWhitespace(text.substr(begin, end - begin));
    if (line.empty()) continue;
    Event event;
    absl::Status status = FromJson(line, &event);
    if (status.ok() && event.kind_case() == Event::KIND_NOT_SET) {
      status = absl::InvalidArgumentError("the event is of no known kind");
    }
    if (status.ok()) {
      log.events.push_back(std::move(event));
    } else {
      log.bad_lines.push_back(
          {line_number, std::string(line), std::string(status.message())});
    }
  }
  log.cut_line = std::string(text.substr(begin));
  log.complete_bytes = begin;
  return log;
}

absl::StatusOr<EventLog> ReadEvents(const std::string& path, uint64_t offset) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return absl::NotFoundError(
        absl::StrCat(path, ": could not be opened: ", std::strerror(errno)));
  }
  in.seekg(static_cast<std::streamoff>(offset));
  std::ostringstream text;
  text << in.rdbuf();
  EventLog log = ParseEvents(text.str());
  log.complete_bytes += offset;
  return log;
}

}  // namespace reprise::conformance
