#include "format/io/testing/fault_injecting_file_system.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"

namespace reprise {
namespace {

bool ChangesNothing(absl::string_view name) {
  return name == "OpenForReading" || name == "ReadAt" || name == "FileStat" ||
         name == "Stat" || name == "LinkStat" || name == "List" ||
         name == "Close";
}

}  // namespace

void FaultInjectingFileSystem::Reset() {
  operations_ = 0;
  at_.reset();
  for_good_ = false;
  short_write_ = false;
  injected_.reset();
}

void FaultInjectingFileSystem::FailOperation(int n, int error_number) {
  Reset();
  at_ = n;
  error_number_ = error_number;
}

void FaultInjectingFileSystem::FailFromOperation(int n, int error_number) {
  FailOperation(n, error_number);
  for_good_ = true;
}

void FaultInjectingFileSystem::ShortWriteAt(int n) {
  Reset();
  at_ = n;
  short_write_ = true;
}

absl::Status FaultInjectingFileSystem::Before(const Operation& operation) {
  const int number = operations_++;
  if (!at_.has_value() || number < *at_) return absl::OkStatus();
  if (number > *at_ && (!for_good_ || ChangesNothing(operation.name))) {
    return absl::OkStatus();
  }
  if (short_write_) {
    if (operation.allowed == nullptr || operation.size < 2) {
      return absl::OkStatus();
    }
    *operation.allowed = operation.size / 2;
    injected_ = absl::StrCat("short ", operation.name, " ", operation.path);
    return absl::OkStatus();
  }
  if (!injected_.has_value()) {
    injected_ = absl::StrCat(operation.name, " ", operation.path);
  }
  return IoError(error_number_, absl::StrCat("(injected) ", operation.name),
                 operation.path);
}

}  // namespace reprise
