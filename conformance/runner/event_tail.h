// Follows an events file while somebody else appends to it.
//
//   EventTail tail(path, EventTail::Limits());
//   std::vector<Event> fresh;
//   absl::Status status = tail.Read(&fresh);   // again and again
//   ... after the writer has ended:
//   tail.torn_bytes();                         // of a last line without '\n'
//
// A line that has no newline yet is waited for; blank ones are passed over. Not
// thread-safe.
#ifndef REPRISE_CONFORMANCE_RUNNER_EVENT_TAIL_H_
#define REPRISE_CONFORMANCE_RUNNER_EVENT_TAIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "conformance/protocol/messages.h"

namespace reprise::conformance {

class EventTail {
 public:
  struct Limits {
    uint64_t max_file_bytes = uint64_t{256} << 20;
    uint64_t max_line_bytes = uint64_t{16} << 20;
  };

  EventTail(std::string path, const Limits& limits);
  ~EventTail();
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

  // Adds the events whose lines became complete since the last call. A file
  // that is not there yet has none. Events before a bad line are still added;
  // after an error every call returns the same one. Errors:
  //   InvalidArgument    a line is not an Event; names the line
  //   ResourceExhausted  the file or a line is beyond its limit
  //   DataLoss           the file shrank, was removed or replaced
  absl::Status Read(std::vector<Event>* fresh);

  // Complete lines so far, with blank ones and unknown kinds of event.
  uint64_t lines() const { return lines_; }
  // Bytes after the last newline.
  uint64_t torn_bytes() const { return pending_.size(); }
  // Their beginning, for messages.
  std::string torn_text() const { return pending_.substr(0, 80); }

 private:
  absl::Status ReadMore(std::vector<Event>* fresh);
  absl::Status CheckFile();

  const std::string path_;
  const Limits limits_;
  int fd_ = -1;
  uint64_t offset_ = 0;
  uint64_t lines_ = 0;
  std::string pending_;
  absl::Status status_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_EVENT_TAIL_H_
