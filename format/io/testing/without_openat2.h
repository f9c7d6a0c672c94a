// Runs something as on a kernel without openat2(), or in a sandbox that forbids
// it: with a seccomp filter, for real.
//
// Example:
//
//   WithoutOpenat2(ENOSYS, [] { EXPECT_TRUE(files->Within("run").ok()); });
//
// Thread-safe.
#ifndef REPRISE_FORMAT_IO_TESTING_WITHOUT_OPENAT2_H_
#define REPRISE_FORMAT_IO_TESTING_WITHOUT_OPENAT2_H_

#include <functional>

namespace reprise {

// Calls `body` on a thread for which, and for every thread started from it,
// openat2() fails with `error_number` (ENOSYS of an old kernel, EPERM of a
// sandbox); 0: as it is here. Returns when it has ended. The test fails when
// the filter cannot be installed.
void WithoutOpenat2(int error_number, const std::function<void()>& body);

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_TESTING_WITHOUT_OPENAT2_H_
