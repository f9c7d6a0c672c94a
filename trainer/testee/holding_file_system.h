// HoldingFileSystem: lets a save, a prune or a load of the trainer be held at
// the points s1 to s8 and LOAD of the conformance protocol, by watching the
// file operations that the checkpoint store makes.
#ifndef REPRISE_TRAINER_TESTEE_HOLDING_FILE_SYSTEM_H_
#define REPRISE_TRAINER_TESTEE_HOLDING_FILE_SYSTEM_H_

#include <functional>
#include <mutex>
#include <string>

#include "format/io/testing/forwarding_file_system.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise {

// Thread-safe: the store writes tensors with several threads. A thread that is
// held keeps the others from every further operation.
class HoldingFileSystem : public ForwardingFileSystem {
 public:
  // `reached` is told each point when the operations stand there; it does not
  // return from one at which the process is to be held.
  HoldingFileSystem(FileSystem* target,
                    std::function<void(conformance::v1::Point)> reached);

  absl::Status Before(const Operation& operation) override;

 private:
  // Of a shard in a temporary folder.
  void BeforeShard(const Operation& operation);

  const std::function<void(conformance::v1::Point)> reached_;
  std::mutex mutex_;
  // Of the shard that is being written.
  bool opened_ = false;    // nothing is written yet
  bool halved_ = false;    // the last write was cut in two
  bool cut_ = false;       // some write was
  bool renamed_ = false;   // to its final name, folder not yet synced
  bool switched_ = false;  // the hint names it, folder not yet synced
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTEE_HOLDING_FILE_SYSTEM_H_
