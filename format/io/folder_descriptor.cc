#include "format/io/folder_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "format/io/io_error.h"

namespace reprise {
namespace {

constexpr char kOpenFolder[] = "open folder";

// In the words of IoError, what openat() of a folder failed with.
int CauseOf(int error_number, int at, const std::string& name) {
  // A link that is not followed is "not a directory" to the kernel.
  struct stat status;
  const bool is_link =
      error_number == ENOTDIR &&
      fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(status.st_mode);
  return is_link ? ELOOP : error_number;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) close(number_);
    number_ = other.Release();
  }
  return *this;
}

absl::StatusOr<Descriptor> OpenFolderAt(int at, const std::string& name,
                                        int flags, Links links,
                                        absl::string_view operation,
                                        absl::string_view path) {
  const int no_follow = links == Links::kRefuse ? O_NOFOLLOW : 0;
  int number;
  do {
    number =
        openat(at, name.c_str(), flags | O_DIRECTORY | O_CLOEXEC | no_follow);
  } while (number < 0 && errno == EINTR);
  if (number >= 0) return Descriptor(number);
  const int error_number = errno;
  return IoError(
      links == Links::kRefuse ? CauseOf(error_number, at, name) : error_number,
      operation, path);
}

absl::StatusOr<Descriptor> OpenFolderBeneath(int root,
                                             absl::string_view root_path,
                                             const std::string& relative) {
  struct open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const std::string name = relative.empty() ? "." : relative;
  long number;
  do {
    number = syscall(SYS_openat2, root, name.c_str(), &how, sizeof(how));
  } while (number < 0 && errno == EINTR);
  if (number >= 0) return Descriptor(static_cast<int>(number));
  // Not to be had here; or the walk finds the same and says where.
  return WalkToFolderBeneath(root, root_path, relative);
}

absl::StatusOr<Descriptor> WalkToFolderBeneath(int root,
                                               absl::string_view root_path,
                                               const std::string& relative) {
  std::string path(root_path);
  absl::StatusOr<Descriptor> folder =
      OpenFolderAt(root, ".", O_PATH, Links::kRefuse, kOpenFolder, path);
  const std::vector<std::string> names =
      absl::StrSplit(relative, '/', absl::SkipEmpty());
  for (const std::string& name : names) {
    if (!folder.ok()) break;
    const bool joined = path.empty() || absl::EndsWith(path, "/");
    absl::StrAppend(&path, joined ? "" : "/", name);
    folder = OpenFolderAt(folder->get(), name, O_PATH, Links::kRefuse,
                          kOpenFolder, path);
  }
  return folder;
}

}  // namespace reprise
