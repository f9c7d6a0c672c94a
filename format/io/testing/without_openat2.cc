#include "format/io/testing/without_openat2.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>
#include <thread>

#include "gtest/gtest.h"

namespace reprise {
namespace {

void Forbid(int error_number) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K,
               SECCOMP_RET_ERRNO | static_cast<unsigned>(error_number)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {static_cast<unsigned short>(std::size(program)),
                              program};
  // Of this thread and its children only.
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter), 0);
  struct open_how how = {};
  ASSERT_EQ(syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how)), -1);
  ASSERT_EQ(errno, error_number);
}

}  // namespace

void WithoutOpenat2(int error_number, const std::function<void()>& body) {
  std::thread thread([&] {
    if (error_number != 0) Forbid(error_number);
    if (::testing::Test::HasFatalFailure()) return;
    SCOPED_TRACE(error_number);
    body();
  });
  thread.join();
}

}  // namespace reprise
