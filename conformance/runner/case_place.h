// The place where one case runs: its run folder, which moves between attempts,
// and fresh surroundings for each.
//
//   ROOT/canary/...         nobody's business
//   ROOT/place-1/run        the run folder during attempt 1
//   ROOT/place-2/run        the same folder, renamed, during attempt 2
//   ROOT/attempt-N/cwd home tmp
//
//   auto place = CasePlace::Make(root);
//   place->Prepare(1, /*move=*/true);
//   ... run the attempt in place->run_folder() ...
//   CasePlace::Changes changes = place->WhatChanged();
//
// Not thread-safe.
#ifndef REPRISE_CONFORMANCE_RUNNER_CASE_PLACE_H_
#define REPRISE_CONFORMANCE_RUNNER_CASE_PLACE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "conformance/runner/folder_snapshot.h"

namespace reprise::conformance {

class CasePlace {
 public:
  // Makes ROOT, which must not exist. `watched`: another folder that the testee
  // has no business in (the records); may be empty. Errors: Internal.
  static absl::StatusOr<std::unique_ptr<CasePlace>> Make(
      const std::string& root, const std::string& watched);

  // Makes the surroundings of attempt `number` and, when `move`, renames the
  // run folder to another place. The first one gets an empty run folder.
  // `watched_except`: paths in `watched` that the testee may write.
  absl::Status Prepare(int number, bool move,
                       std::vector<std::string> watched_except);

  // Fills the run folder of a fresh place with a copy of another's, file times
  // and modes included.
  absl::Status CopyRunFolderFrom(const CasePlace& other);

  const std::string& run_folder() const { return run_folder_; }
  std::string home() const { return attempt_ + "/home"; }
  std::string temporary() const { return attempt_ + "/tmp"; }
  std::string working_folder() const { return attempt_ + "/cwd"; }

  struct Changes {
    // In home, temporary and working folder: gone with the attempt, so
    // harmless.
    std::vector<std::string> stray;
    // Elsewhere: the canary, places that the run folder had left, folders of
    // earlier attempts, the records.
    std::vector<std::string> outside;
  };
  // Since Prepare. Other folders of the machine are not looked at.
  Changes WhatChanged() const;

  // Removes everything.
  void Remove();

 private:
  CasePlace(std::string root, std::string watched)
      : root_(std::move(root)), watched_(std::move(watched)) {}

  FolderSnapshot TakeOutside() const;
  FolderSnapshot TakeWatched() const;

  const std::string root_;
  const std::string watched_;
  std::vector<std::string> watched_except_;
  std::string run_folder_;
  std::string attempt_;
  FolderSnapshot outside_before_;
  FolderSnapshot watched_before_;
  FolderSnapshot stray_before_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_CASE_PLACE_H_
