// A program that believes to run on a terminal.
//
//   absl::StatusOr<std::unique_ptr<PtyProcess>> trainer =
//       PtyProcess::Start({"python3", "train.py"}, {{"SEED", "1"}}, "");
//   std::string bytes;
//   while ((*trainer)->Read(absl::Milliseconds(20), &bytes)) ...
//   (*trainer)->status();
//
// The terminal is 500 columns wide, so that progress bars do not wrap, and
// changes nothing of what is written. The program dies with its owner. Not
// thread-safe.
#ifndef REPRISE_CONFORMANCE_LOG_ADAPTER_PTY_PROCESS_H_
#define REPRISE_CONFORMANCE_LOG_ADAPTER_PTY_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace reprise::conformance {

class PtyProcess {
 public:
  // `environment` is added to the caller's. `folder`: empty for the caller's.
  // Errors: Internal. A command that cannot be executed ends with code 127.
  static absl::StatusOr<std::unique_ptr<PtyProcess>> Start(
      const std::vector<std::string>& command,
      const std::vector<std::pair<std::string, std::string>>& environment,
      const std::string& folder);
  // Kills it.
  ~PtyProcess();
  PtyProcess(const PtyProcess&) = delete;
  PtyProcess& operator=(const PtyProcess&) = delete;

  // Waits up to `patience` for output and appends it. False once the program
  // has ended and everything it wrote was read.
  bool Read(absl::Duration patience, std::string* bytes);

  void Signal(int number);
  pid_t pid() const { return pid_; }
  // As from waitpid; valid when Read returned false.
  int status() const { return status_; }

 private:
  PtyProcess(pid_t pid, int fd) : pid_(pid), fd_(fd) {}

  const pid_t pid_;
  const int fd_;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_LOG_ADAPTER_PTY_PROCESS_H_
