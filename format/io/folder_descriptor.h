// Folders held open by a descriptor, and folders found beneath one: never
// through a symbolic link, and never outside of it.
//
// Example (a test as well):
//
//   auto run = OpenFolderAt(AT_FDCWD, "/tmp/run", O_PATH, Links::kFollow,
//                           "open folder", "/tmp/run");
//   auto branch = OpenFolderBeneath(run->get(), "/tmp/run", "abandoned/2");
//   mkdirat(branch->get(), "step-000000000060", 0777);
//
// Thread-safe; a Descriptor is thread-compatible.
#ifndef REPRISE_FORMAT_IO_FOLDER_DESCRIPTOR_H_
#define REPRISE_FORMAT_IO_FOLDER_DESCRIPTOR_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

// Owns a file descriptor, or none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();  // closes; nothing is lost, as folders are not written to
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return number_; }
  // Now the caller's to close.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// What happens to a last component that is a symbolic link.
enum class Links { kFollow, kRefuse };

// Opens the folder `name` of the folder `at` (or AT_FDCWD), close-on-exec.
// `flags`: O_RDONLY or O_PATH. Errors name `path`: those of the system; ELOOP
// for a link that is refused.
absl::StatusOr<Descriptor> OpenFolderAt(int at, const std::string& name,
                                        int flags, Links links,
                                        absl::string_view operation,
                                        absl::string_view path);

// Opens (O_PATH) the folder `relative` of the folder `root`: names with single
// slashes between them, none of them "." or ".."; empty: `root` itself. No
// component may be a symbolic link, whoever changes names meanwhile. Errors
// name the component by the path `root_path` of the root: ENOENT, ENOTDIR,
// ELOOP, those of the system.
absl::StatusOr<Descriptor> OpenFolderBeneath(int root,
                                             absl::string_view root_path,
                                             const std::string& relative);

// The same one component after another: for kernels before 5.6 and sandboxes
// that forbid openat2(), where OpenFolderBeneath comes to it by itself.
absl::StatusOr<Descriptor> WalkToFolderBeneath(int root,
                                               absl::string_view root_path,
                                               const std::string& relative);

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_FOLDER_DESCRIPTOR_H_
