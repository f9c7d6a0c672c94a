#include "conformance/runner/event_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "conformance/protocol/messages.h"

namespace reprise::conformance {

EventTail::EventTail(std::string path, const Limits& limits)
    : path_(std::move(path)), limits_(limits) {}

EventTail::~EventTail() {
  if (fd_ >= 0) close(fd_);
}

absl::Status EventTail::Read(std::vector<Event>* fresh) {
  if (status_.ok()) status_ = ReadMore(fresh);
  return status_;
}

absl::Status EventTail::CheckFile() {
  struct stat opened, named;
  if (fstat(fd_, &opened) != 0) {
    return absl::DataLossError(
        absl::StrCat("cannot look at ", path_, ": ", strerror(errno)));
  }
  if (stat(path_.c_str(), &named) != 0 || named.st_ino != opened.st_ino) {
    return absl::DataLossError(absl::StrCat(
        "the events file ", path_,
        " was removed or replaced; events are only ever appended"));
  }
  if (uint64_t(opened.st_size) < offset_) {
    return absl::DataLossError(absl::StrCat(
        "the events file ", path_, " shrank from ", offset_, " to ",
        opened.st_size, " bytes; events are only ever appended"));
  }
  if (uint64_t(opened.st_size) > limits_.max_file_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the events file has ", opened.st_size,
        " bytes, more than the limit of ", limits_.max_file_bytes));
  }
  return absl::OkStatus();
}

absl::Status EventTail::ReadMore(std::vector<Event>* fresh) {
  if (fd_ < 0) {
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) return absl::OkStatus();
  }
  if (absl::Status status = CheckFile(); !status.ok()) return status;
  char buffer[65536];
  for (;;) {
    const ssize_t got = pread(fd_, buffer, sizeof(buffer), offset_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::DataLossError(
          absl::StrCat("cannot read ", path_, ": ", strerror(errno)));
    }
    if (got == 0) return absl::OkStatus();
    offset_ += got;
    if (offset_ > limits_.max_file_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the events file grew beyond the limit of ",
                       limits_.max_file_bytes, " bytes"));
    }
    const char* next = buffer;
    const char* const end = buffer + got;
    while (next < end) {
      const char* newline =
          static_cast<const char*>(memchr(next, '\n', end - next));
      pending_.append(next, newline == nullptr ? end : newline);
      if (pending_.size() > limits_.max_line_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("line ", lines_ + 1,
                         " of the events file is longer than the limit of ",
                         limits_.max_line_bytes, " bytes"));
      }
      if (newline == nullptr) break;
      next = newline + 1;
      ++lines_;
      if (absl::StripAsciiWhitespace(pending_).empty()) {
        pending_.clear();
        continue;
      }
      Event event;
      if (absl::Status status = FromJson(pending_, &event); !status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "line ", lines_, " of the events file: ", status.message(),
            "; it begins with \"", absl::CHexEscape(pending_.substr(0, 80)),
            "\""));
      }
      pending_.clear();
      fresh->push_back(std::move(event));
    }
  }
}

}  // namespace reprise::conformance
