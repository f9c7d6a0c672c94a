// What a folder looks like, to see what somebody did to it.
//
//   FolderSnapshot before = FolderSnapshot::Take(root, {"cwd"});
//   ...
//   for (const std::string& change :
//        before.ChangesTo(FolderSnapshot::Take(root, {"cwd"}))) ...
//
// Files are compared by kind, size, inode, mode and time of change, not by
// content: who writes a file and sets its clock back stays unseen only when
// nothing else changed (ctime is compared as well, so hardly ever).
#ifndef REPRISE_CONFORMANCE_RUNNER_FOLDER_SNAPSHOT_H_
#define REPRISE_CONFORMANCE_RUNNER_FOLDER_SNAPSHOT_H_

#include <map>
#include <string>
#include <vector>

namespace reprise::conformance {

class FolderSnapshot {
 public:
  // Everything below `root`, whose paths are relative to it, except what lies
  // at or below one of `without` (relative paths). At most 100,000 entries are
  // looked at; links are not followed. What cannot be read is left out.
  static FolderSnapshot Take(const std::string& root,
                             const std::vector<std::string>& without = {});

  // "made x", "removed y", "changed z", sorted by path; at most `limit`, then
  // one that says how many more. A folder counts as changed only by its mode:
  // its entries tell the rest.
  std::vector<std::string> ChangesTo(const FolderSnapshot& later,
                                     size_t limit = 50) const;

  size_t size() const { return entries_.size(); }

 private:
  // Path to all that identifies a state of the entry.
  std::map<std::string, std::string> entries_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_FOLDER_SNAPSHOT_H_
