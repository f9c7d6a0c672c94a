// A file system whose n-th operation fails once, as a full disk, a broken
// device or a flaky mount would make it.
//
// Example:
//
//   FaultInjectingFileSystem faulty(FileSystem::Real());
//   faulty.FailOperation(7, ENOSPC);  // the eighth from now on
//   ... save ...
//   faulty.injected();  // whether the save got that far
//
// Not thread-safe.
#ifndef REPRISE_FORMAT_IO_TESTING_FAULT_INJECTING_FILE_SYSTEM_H_
#define REPRISE_FORMAT_IO_TESTING_FAULT_INJECTING_FILE_SYSTEM_H_

#include <optional>
#include <string>
#include <vector>

#include "format/io/testing/forwarding_file_system.h"

namespace reprise {

class FaultInjectingFileSystem : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;

  // The operation after `n` others fails with `error_number`; those after it
  // go through again. Replaces an earlier request and starts counting anew.
  void FailOperation(int n, int error_number);
  // Like FailOperation, and every later operation that would change anything
  // fails too: a device that is gone for good.
  void FailFromOperation(int n, int error_number);
  // The n-th operation, when it is a WriteAt of more than one byte, writes half
  // of what it was asked to; no error.
  void ShortWriteAt(int n);
  // Stops failing and counts anew.
  void Reset();

  bool injected() const { return injected_.has_value(); }
  // "WriteAt path" of the operation that was hit.
  std::string injected_operation() const { return injected_.value_or(""); }
  // Operations since the last request, including failed ones.
  int operations() const { return operations_; }

  absl::Status Before(const Operation& operation) override;

 private:
  int operations_ = 0;
  std::optional<int> at_;
  int error_number_ = 0;
  bool for_good_ = false;
  bool short_write_ = false;
  std::optional<std::string> injected_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_TESTING_FAULT_INJECTING_FILE_SYSTEM_H_
