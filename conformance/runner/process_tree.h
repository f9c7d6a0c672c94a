// A process with everything that it starts, as one thing that can be killed and
// that cannot outlive its owner.
//
//   ProcessTree::Options options;
//   options.command = {"/usr/bin/python3", "train.py"};
//   options.working_folder = "/tmp/place";
//   options.environment = {"PATH=/usr/bin:/bin"};
//   options.stdout_path = "/tmp/out";
//   options.stderr_path = "/tmp/err";
//   auto tree = ProcessTree::Start(options);
//   ... poll (*tree)->fd(), then call (*tree)->Update() ...
//   (*tree)->KillAll();
//   (*tree)->WaitUntilGone();
//
// Between the owner and the process stands a guardian, a fork of the owner that
// does nothing but watch:
//
//   owner --socket-- guardian (subreaper, session of its own)
//                       `-- process (session of its own) -- children -- ...
//                       `-- orphans of any of them
//
// The guardian adopts every orphan below it, so "no child left" means "nothing
// left", whatever sessions and groups the processes made for themselves. It
// kills all of them when it is told to, when the process has ended and the rest
// has had its grace, and when the socket closes: also a SIGKILL of the owner
// leaves nothing behind. Terminal signals do not reach it. When the guardian
// itself is killed, the process dies with it and the owner finds the others by
// a random mark in their environment (REPRISE_ATTEMPT).
//
// Limits: a process that asks a daemon outside the tree (a service manager, a
// container engine) to start something is beyond this. Linux only, needs /proc.
//
// Start makes the calling process a subreaper (prctl), for good. Not
// thread-safe; several trees may live at once.
#ifndef REPRISE_CONFORMANCE_RUNNER_PROCESS_TREE_H_
#define REPRISE_CONFORMANCE_RUNNER_PROCESS_TREE_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace reprise::conformance {

// How a process ended.
struct ProcessEnd {
  // One of both.
  std::optional<int> exit_code;
  std::optional<int> signal;
  // It died of the guardian's own SIGKILL.
  bool killed_by_owner = false;
};

class ProcessTree {
 public:
  struct Options {
    // The program and its arguments. A program without a slash is looked for in
    // the PATH of `environment`.
    std::vector<std::string> command;
    // Must exist.
    std::string working_folder;
    // "NAME=value", all that the process gets besides the mark.
    std::vector<std::string> environment;
    // Appended to; made when absent. May be the same file.
    std::string stdout_path;
    std::string stderr_path;
    // How long other processes may outlive the one that was started before they
    // count as left behind.
    absl::Duration grace_for_rest = absl::Seconds(1);
  };

  // Errors: Internal when the machine gives no process or file. A command that
  // cannot be executed is no error here: see start_failure().
  static absl::StatusOr<std::unique_ptr<ProcessTree>> Start(
      const Options& options);

  // Kills everything and waits for it.
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  // Readable when Update() has something to take in.
  int fd() const { return socket_; }
  // Takes in what the guardian reported; never blocks.
  void Update();

  // Sends `signal` to the process that was started (not to its children).
  void Signal(int signal);
  // SIGKILL to every process of the tree.
  void KillAll();
  // Waits until nothing is left; false when something withstood SIGKILL for
  // `patience` (a process stuck in the kernel), which is then given up.
  bool WaitUntilGone(absl::Duration patience = absl::Seconds(20));

  // Why the command could not be executed; empty when it could.
  const std::string& start_failure() const { return start_failure_; }
  // Set once the process that was started has ended.
  const std::optional<ProcessEnd>& end() const { return end_; }
  // Nothing of the tree is left.
  bool gone() const { return gone_; }
  // "pid name" of processes that were there when the grace was over.
  const std::vector<std::string>& left_behind() const { return left_behind_; }
  // The guardian died or something withstood SIGKILL: the tree's story is not
  // known. Says what happened.
  const std::string& trouble() const { return trouble_; }
  pid_t guardian_pid() const { return guardian_; }

 private:
  ProcessTree() = default;
  void GuardianIsLost();

  pid_t guardian_ = -1;
  int socket_ = -1;
  std::string mark_;
  std::string start_failure_;
  std::optional<ProcessEnd> end_;
  bool gone_ = false;
  std::vector<std::string> left_behind_;
  std::string trouble_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_PROCESS_TREE_H_
