// Checkpoints of the fake trainer: how State reaches the disk and comes back.
//
//   RUN/lock                            flock for the life of the store
//   RUN/step-000000000060/state         a committed checkpoint
//   RUN/step-000000000059-micro-0002/   one in the middle of accumulation
//   RUN/latest                          hint, never followed
//   RUN/.tmp-*, .trash-*                leftovers, swept by Open
//   RUN/abandoned/<attempt>/            what lay beyond the one resumed from
//
// `state` is one line "reprise-fake 1 <xxh3-64 of the rest> <bytes of the
// rest>" and a serialised State. Commit order, with the hold points: file open
// S1, half its bytes S2, all S3, synced S4, folder renamed S5, parent synced
// (durable), S6, latest switched S7, first old checkpoint renamed away S8,
// deleted.
//
// Not thread-safe. Errors are refusals (format/refusal.h).
#ifndef REPRISE_CONFORMANCE_FAKE_STORE_H_
#define REPRISE_CONFORMANCE_FAKE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "conformance/fake/state.pb.h"
#include "conformance/protocol/messages.h"
#include "format/io/file_system.h"

namespace reprise::conformance::fake {

// Is told how a save gets on.
class SaveWatch {
 public:
  virtual ~SaveWatch() = default;
  virtual void At(v1::Point point, const State& state) = 0;
  // No crash can lose it from here on.
  virtual void Durable(const std::string& checkpoint, const State& state) = 0;
};

struct Loaded {
  State state;
  std::string checkpoint;  // identity: folder name, colon, digest
};

class Store {
 public:
  virtual ~Store() = default;
  // The newest checkpoint that verifies; nullopt when there is none at all.
  // Error CORRUPT when there are some and none verifies.
  virtual absl::StatusOr<std::optional<Loaded>> Load() = 0;
  // Moves what lies beyond `state` to abandoned/.
  virtual absl::Status ResumeFrom(const State& state) = 0;
  virtual absl::Status Commit(const State& state, SaveWatch* watch) = 0;
  // Identity of the newest committed checkpoint, empty when there is none.
  virtual std::string Newest() = 0;
  // That of the checkpoint of this step's boundary.
  virtual std::string At(uint64_t step) = 0;
  // Names of damaged checkpoints that Load passed over.
  virtual std::vector<std::string> PassedOver() = 0;
};

// Folder name of the checkpoint of `state`; sorts by age.
std::string CheckpointName(const State& state);

class FileStore : public Store {
 public:
  // Creates the folder when absent, takes its lock and sweeps leftovers. Error
  // LOCKED when another process holds it.
  static absl::StatusOr<std::unique_ptr<FileStore>> Open(
      FileSystem* files, const std::string& folder, uint32_t keep_last);

  absl::StatusOr<std::optional<Loaded>> Load() override;
  absl::Status ResumeFrom(const State& state) override;
  absl::Status Commit(const State& state, SaveWatch* watch) override;
  std::string Newest() override;
  std::string At(uint64_t step) override;
  std::vector<std::string> PassedOver() override { return passed_over_; }

  // Names of the committed checkpoints, oldest first.
  absl::StatusOr<std::vector<std::string>> List();
  absl::StatusOr<Loaded> LoadNamed(const std::string& name);

 private:
  FileStore(FileSystem* files, std::string folder, uint32_t keep_last,
            std::unique_ptr<File> lock);
  absl::Status WriteState(const std::string& path, const std::string& bytes,
                          const State& state, SaveWatch* watch);
  absl::Status SwitchLatest(const std::string& name);
  absl::Status Prune(const State& state, SaveWatch* watch);

  FileSystem* const files_;
  const std::string folder_;
  const uint32_t keep_last_;
  const std::unique_ptr<File> lock_;
  std::vector<std::string> passed_over_;
};

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_STORE_H_
