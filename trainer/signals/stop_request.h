// StopRequest: how a person or a scheduler asks the trainer to save and stop.
//
//   absl::Status status = reprise::StopRequest::Install();
//   if (!status.ok()) return status;
//   while (!reprise::StopRequest::Requested()) TrainOneStep();
//   std::cout << "saving after " << reprise::StopRequest::Name() << std::endl;
//
//   signal                            effect
//   SIGINT SIGTERM SIGHUP SIGUSR1     first: Requested() becomes true
//                                     second, of any of them: _exit(128 + n)
//   SIGXFSZ SIGPIPE                   ignored, so that a write that meets a
//                                     file-size limit or a closed pipe returns
//                                     EFBIG or EPIPE instead of killing the run
//
// Two exceptions, both about terminals that go away. A SIGHUP that was ignored
// when the process started (nohup) stays ignored. A SIGHUP after a SIGHUP is no
// second signal: the kernel and the shell each send one when a terminal closes.
//
// The handler only stores a number, so it is safe wherever it interrupts;
// system calls are restarted (SA_RESTART) and never see EINTR from it.
#ifndef REPRISE_TRAINER_SIGNALS_STOP_REQUEST_H_
#define REPRISE_TRAINER_SIGNALS_STOP_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace reprise {

// State of the process; every function may be called from any thread.
class StopRequest {
 public:
  StopRequest() = delete;

  // Installs the handlers; call once, early in main. INTERNAL when the system
  // refuses.
  static absl::Status Install();

  // The signals that ask to stop, by number.
  static std::vector<int> Signals();

  // Number of the first signal that asked; 0: none did.
  static int Signal();
  static bool Requested() { return Signal() != 0; }
  // "SIGTERM" and so on; "none" when none did.
  static std::string Name() { return NameOf(Signal()); }
  static std::string NameOf(int signal);
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_SIGNALS_STOP_REQUEST_H_
