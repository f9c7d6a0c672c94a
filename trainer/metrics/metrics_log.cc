#include "trainer/metrics/metrics_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

absl::Status SystemError(const std::string& path, absl::string_view operation,
                         int error) {
  std::string message =
      absl::StrCat(path, ": ", operation, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message)
                         : absl::UnavailableError(message);
}

// An open file that closes itself.
class File {
 public:
  File(std::string path, int flags)
      : path_(std::move(path)),
        descriptor_(open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) status_ = SystemError(path_, "open", errno);
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const absl::Status& status() const { return status_; }
  int Release() { return std::exchange(descriptor_, -1); }

  absl::StatusOr<std::string> ReadAll() {
    std::string bytes;
    constexpr size_t kPiece = 1 << 20;
    while (true) {
      size_t before = bytes.size();
      bytes.resize(before + kPiece);
      ssize_t found = read(descriptor_, bytes.data() + before, kPiece);
      bytes.resize(before + std::max<ssize_t>(found, 0));
      if (found == 0) return bytes;
      if (found < 0 && errno != EINTR) {
        return SystemError(path_, "read", errno);
      }
    }
  }
  absl::Status WriteAll(absl::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written >= 0) {
        bytes.remove_prefix(written);
      } else if (errno != EINTR) {
        return SystemError(path_, "write", errno);
      }
    }
    return absl::OkStatus();
  }
  absl::Status Sync() {
    if (fsync(descriptor_) != 0) return SystemError(path_, "fsync", errno);
    return absl::OkStatus();
  }

 private:
  std::string path_;
  int descriptor_;
  absl::Status status_;
};

absl::Status SyncFolder(const std::string& folder) {
  File file(folder, O_RDONLY | O_DIRECTORY);
  if (!file.status().ok()) return file.status();
  return file.Sync();
}

// The file's bytes; empty when it does not exist.
absl::StatusOr<std::string> ReadIfThere(const std::string& path) {
  File file(path, O_RDONLY);
  if (absl::IsNotFound(file.status())) return std::string();
  if (!file.status().ok()) return file.status();
  return file.ReadAll();
}

// Appends whole lines durably.
absl::Status AppendSuperseded(const std::string& path,
                              absl::string_view lines) {
  File file(path, O_RDWR | O_CREAT | O_APPEND);
  if (!file.status().ok()) return file.status();
  // A kill may have cut an earlier append: its last line is ended first, so
  // that no line runs into another.
  absl::StatusOr<std::string> before = file.ReadAll();
  if (!before.ok()) return before.status();
  std::string bytes;
  if (!before->empty() && before->back() != '\n') bytes = "\n";
  absl::StrAppend(&bytes, lines);
  absl::Status status = file.WriteAll(bytes);
  if (!status.ok()) return status;
  return file.Sync();
}

absl::Status ReplaceFile(const std::string& path, absl::string_view bytes) {
  std::string temporary = absl::StrCat(path, ".tmp");
  {
    File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    absl::Status status = file.status();
    if (status.ok()) status = file.WriteAll(bytes);
    if (status.ok()) status = file.Sync();
    if (!status.ok()) return status;
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return SystemError(path, "rename", errno);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MetricsLog> MetricsLog::OpenForResume(
    const std::string& run_folder, uint64_t step) {
  std::string path = absl::StrCat(run_folder, "/", kMetricsFile);
  absl::StatusOr<std::string> bytes = ReadIfThere(path);
  if (!bytes.ok()) return bytes.status();

  std::string kept, superseded;
  uint64_t last_evaluated = 0, moved = 0;
  for (size_t begin = 0; begin < bytes->size();) {
    size_t end = bytes->find('\n', begin);
    bool cut = end == std::string::npos;
    if (cut) end = bytes->size();
    absl::string_view line(bytes->data() + begin, end - begin);
    std::optional<EventKey> key = ParseEventKey(line);
    if (!cut && key.has_value() && key->step <= step) {
      absl::StrAppend(&kept, line, "\n");
      if (key->is_evaluation) last_evaluated = key->step;
    } else {
      absl::StrAppend(&superseded, line, "\n");
      ++moved;
    }
    begin = end + 1;
  }
  if (moved > 0) {
    absl::Status status = AppendSuperseded(
        absl::StrCat(run_folder, "/", kSupersededMetricsFile), superseded);
    if (status.ok()) status = ReplaceFile(path, kept);
    if (!status.ok()) return status;
  }

  File file(path, O_WRONLY | O_CREAT | O_APPEND);
  if (!file.status().ok()) return file.status();
  absl::Status status = SyncFolder(run_folder);
  if (!status.ok()) return status;
  MetricsLog log(path, file.Release());
  log.last_evaluated_step_ = last_evaluated;
  log.superseded_lines_ = moved;
  return log;
}

MetricsLog::MetricsLog(MetricsLog&& other)
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      last_evaluated_step_(other.last_evaluated_step_),
      superseded_lines_(other.superseded_lines_) {}

MetricsLog& MetricsLog::operator=(MetricsLog&& other) {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  last_evaluated_step_ = other.last_evaluated_step_;
  superseded_lines_ = other.superseded_lines_;
  return *this;
}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status MetricsLog::AppendLine(std::string line) {
  line.push_back('\n');
  size_t done = 0;
  int error = 0;
  while (done < line.size() && error == 0) {
    const ssize_t written =
        write(descriptor_, line.data() + done, line.size() - done);
    if (written > 0) {
      done += written;
    } else if (written == 0) {
      error = EIO;
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0) return absl::OkStatus();
  // The device took a part at most: take it back, so that the file ends with a
  // whole line. The first cause is the one to report.
  if (done > 0) {
    const off_t end = lseek(descriptor_, 0, SEEK_END);
    if (end >= static_cast<off_t>(done)) {
      (void)!ftruncate(descriptor_, end - done);
    }
  }
  return SystemError(path_, "write", error);
}

absl::Status MetricsLog::Append(const StepEvent& event) {
  return AppendLine(FormatEvent(event));
}

absl::Status MetricsLog::Append(const EvaluationEvent& event) {
  absl::Status status = AppendLine(FormatEvent(event));
  if (status.ok()) last_evaluated_step_ = event.step;
  return status;
}

absl::Status MetricsLog::Sync() {
  if (fdatasync(descriptor_) != 0)
    return SystemError(path_, "fdatasync", errno);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<MetricsEvent>> ReadMetricsFile(
    const std::string& path) {
  File file(path, O_RDONLY);
  if (!file.status().ok()) return file.status();
  absl::StatusOr<std::string> bytes = file.ReadAll();
  if (!bytes.ok()) return bytes.status();
  std::vector<MetricsEvent> events;
  size_t begin = 0;
  for (size_t end; (end = bytes->find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    absl::StatusOr<MetricsEvent> event =
        ParseEvent(absl::string_view(*bytes).substr(begin, end - begin));
    if (!event.ok()) {
      return absl::DataLossError(absl::StrCat(
          path, ": line ", events.size() + 1, ", ", event.status().message()));
    }
    events.push_back(*std::move(event));
  }
  return events;
}

}  // namespace reprise
