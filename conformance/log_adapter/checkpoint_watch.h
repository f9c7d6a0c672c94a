// Watches the checkpoint files of a trainer that says nothing about them.
//
//   CheckpointWatch watch("/run", adapter.checkpoints());
//   watch.found();                    // what lay there at the beginning
//   CheckpointWatch::News news = watch.Look(trainer_pids);   // every 20 ms
//
// A file is whole when it looked the same twice in a row and no process of the
// trainer holds it open: that is the most that can be seen from outside. It may
// not be durable. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_LOG_ADAPTER_CHECKPOINT_WATCH_H_
#define REPRISE_CONFORMANCE_LOG_ADAPTER_CHECKPOINT_WATCH_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "conformance/log_adapter/log_events.h"
#include "reprise/conformance/log_adapter/adapter.pb.h"

namespace reprise::conformance {

class CheckpointWatch {
 public:
  CheckpointWatch(std::string run_folder, const v1::Checkpoints& checkpoints);

  // Oldest first: by step where the name tells it, else by time of change.
  const std::vector<CheckpointFile>& found() const { return found_; }

  struct News {
    std::vector<CheckpointFile> begun;
    // Only with commit_when_closed.
    std::vector<CheckpointFile> committed;
  };
  // Compares with the last look. `processes`: the trainer's.
  News Look(const std::vector<pid_t>& processes);

 private:
  struct Seen {
    // Size, inode and times.
    std::string state;
    bool committed = false;
  };

  CheckpointFile Describe(const std::string& path) const;

  const std::string run_folder_;
  const v1::Checkpoints checkpoints_;
  std::vector<CheckpointFile> found_;
  std::map<std::string, Seen> files_;
  std::map<std::string, std::string> begun_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_LOG_ADAPTER_CHECKPOINT_WATCH_H_
