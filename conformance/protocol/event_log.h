// The events file: one Event a line, one write(2) a line.
//
//   auto writer = EventWriter::Open(request.events());
//   if (!writer.ok()) return writer.status();
//   Event event;
//   event.mutable_note()->set_text("hello");
//   absl::Status status = (*writer)->Write(event);
//   ...
//   absl::StatusOr<EventLog> log = ReadEvents(path);
//
// A line is appended by a single write to a descriptor opened with O_APPEND, so
// a process killed at any moment leaves whole lines; only a full disk or a
// crash of the machine can cut the last one, and a reader never takes a cut
// line for an event.
#ifndef REPRISE_CONFORMANCE_PROTOCOL_EVENT_LOG_H_
#define REPRISE_CONFORMANCE_PROTOCOL_EVENT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "conformance/protocol/messages.h"

namespace reprise::conformance {

// Thread-safe: writes to one file do not mix.
class EventWriter {
 public:
  // Appends to `path`, creating it (0666, umask) when absent.
  static absl::StatusOr<std::unique_ptr<EventWriter>> Open(
      const std::string& path);
  // Takes a descriptor that is open for appending.
  explicit EventWriter(int fd) : fd_(fd) {}
  ~EventWriter();

  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // Error Internal when the line could not be written whole; events after it
  // would be unreadable, so a testee then stops.
  absl::Status Write(const Event& event);

 private:
  const int fd_;
};

struct BadLine {
  uint64_t line = 0;  // from 1
  std::string text;
  std::string error;
};

struct EventLog {
  std::vector<Event> events;
  // Complete lines that are no Event, or one of a kind this build does not
  // know: the testee's fault, never skipped in silence by a judge.
  std::vector<BadLine> bad_lines;
  // What follows the last newline; empty in a whole file.
  std::string cut_line;
  // Bytes up to and including the last newline: where a follower goes on.
  uint64_t complete_bytes = 0;
};

// Events of `text`. Blank lines are passed over.
EventLog ParseEvents(absl::string_view text);

// Reads the file from byte `offset` (of an earlier complete_bytes) on. Error
// NotFound when there is no such file.
absl::StatusOr<EventLog> ReadEvents(const std::string& path,
                                    uint64_t offset = 0);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_PROTOCOL_EVENT_LOG_H_
