// The real trainer as a process, for tests that kill it, starve it and read
// what it leaves behind.
//
//   auto trainer = TrainerProcess::Start({"--run_dir=" + run, "--steps=60"});
//   ... wait for something in the run folder ...
//   trainer->Signal(SIGKILL);
//   EXPECT_EQ(trainer->Wait(), TrainerExit::BySignal(SIGKILL));
//
// The process leads a process group of its own, gets nothing on standard input
// and writes standard output and error into one file. It dies with the test,
// however the test ends. Thread-compatible.
#ifndef REPRISE_TRAINER_TESTING_TRAINER_PROCESS_H_
#define REPRISE_TRAINER_TESTING_TRAINER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace reprise {

// How a process ended.
struct TrainerExit {
  enum class How { kCode, kSignal, kDeadline };
  How how = How::kDeadline;
  // Exit code or signal number; 0 when the deadline passed.
  int number = 0;

  static TrainerExit WithCode(int code) { return {How::kCode, code}; }
  static TrainerExit BySignal(int signal) { return {How::kSignal, signal}; }
  friend bool operator==(const TrainerExit& a, const TrainerExit& b) {
    return a.how == b.how && a.number == b.number;
  }
  friend std::ostream& operator<<(std::ostream& out, const TrainerExit& exit);
};

class TrainerProcess {
 public:
  // What the process may not do.
  struct Restrictions {
    // No file may grow beyond so many bytes: writes fail with EFBIG, as they
    // fail with ENOSPC on a full disk.
    std::optional<uint64_t> max_file_bytes;
    // File modes bind the process even when it runs as root.
    bool obey_file_modes = false;
  };

  // Starts the trainer of the runfiles. A failure to start is exit code 127,
  // with the reason in Output().
  static std::unique_ptr<TrainerProcess> Start(
      const std::vector<std::string>& flags, const Restrictions& restrictions);
  static std::unique_ptr<TrainerProcess> Start(
      const std::vector<std::string>& flags) {
    return Start(flags, Restrictions());
  }

  // Kills the process group and reaps the process.
  ~TrainerProcess();

  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Sends `signal` to the whole process group; nothing once it was reaped.
  void Signal(int signal);

  // How it ended; nullopt while it runs.
  std::optional<TrainerExit> Poll();

  // Waits for the end. Past the deadline the process is killed and the answer
  // says kDeadline.
  TrainerExit Wait(absl::Duration deadline = absl::Minutes(2));

  // Everything written to standard output and error so far.
  std::string Output() const;

 private:
  TrainerProcess(pid_t pid, std::string output_path)
      : pid_(pid), output_path_(std::move(output_path)) {}

  const pid_t pid_;
  const std::string output_path_;
  std::optional<TrainerExit> exit_;
};

// A run of the trainer from start to end.
struct TrainerResult {
  TrainerExit exit;
  std::string output;
};
TrainerResult RunTrainer(const std::vector<std::string>& flags,
                         const TrainerProcess::Restrictions& restrictions = {});

// An empty folder of the test's own that is unlike every other; its parent
// exists and it does not, unless `create`.
std::string FreshFolder(const std::string& name, bool create = false);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_TRAINER_PROCESS_H_
