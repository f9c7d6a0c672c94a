#include "format/io/io_error.h"

#include <errno.h>

#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TEST(IoError, KeepsErrnoThroughAnnotation) {
  absl::Status status =
      Annotate(IoError(ENOSPC, "write", "run/a b"), "saving step 60");
  EXPECT_EQ(ErrnoOf(status), ENOSPC);
  EXPECT_EQ(RefusalOf(status), Refusal::IO);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("saving step 60: write run/a b: No space left"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("make room"));
}

TEST(IoError, MissingFilesAreAbsentAndLinksAreNotCheckpoints) {
  EXPECT_EQ(RefusalOf(IoError(ENOENT, "open", "x")), Refusal::ABSENT);
  EXPECT_EQ(RefusalOf(IoError(ELOOP, "open", "x")), Refusal::NOT_A_CHECKPOINT);
  EXPECT_EQ(RefusalOf(IoError(EIO, "open", "x")), Refusal::IO);
}

TEST(IoError, StatusesFromElsewhereHaveNoErrno) {
  EXPECT_EQ(ErrnoOf(absl::OkStatus()), 0);
  EXPECT_EQ(ErrnoOf(MakeRefusal(Refusal::CORRUPT, "x")), 0);
}

}  // namespace
}  // namespace reprise
