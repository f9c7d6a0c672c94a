#include "format/refusal.h"

#include <set>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(Refusal, EveryKindSurvivesTheStatusAndIsAnError) {
  for (Refusal refusal : AllValues<Refusal>()) {
    absl::Status status = MakeRefusal(refusal, "because");
    EXPECT_FALSE(status.ok()) << TextOf(refusal);
    EXPECT_EQ(RefusalOf(status), refusal) << TextOf(refusal);
    EXPECT_EQ(status.message(), "because");
  }
}

TEST(Refusal, StatusesFromElsewhereHaveNoKind) {
  EXPECT_EQ(RefusalOf(absl::OkStatus()), Refusal::REFUSAL_UNSPECIFIED);
  EXPECT_EQ(RefusalOf(absl::DataLossError("x")), Refusal::REFUSAL_UNSPECIFIED);
}

TEST(Refusal, AnnotatingKeepsKindCodeFirstCauseAndOtherPayloads) {
  absl::Status status = MakeRefusal(Refusal::CORRUPT, "digest differs");
  status.SetPayload("other", absl::Cord("kept"));
  absl::Status annotated = Annotate(Annotate(status, "inner"), "outer");
  EXPECT_EQ(RefusalOf(annotated), Refusal::CORRUPT);
  EXPECT_EQ(annotated.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(annotated.message(), "outer: inner: digest differs");
  EXPECT_EQ(annotated.GetPayload("other"), absl::Cord("kept"));
}

TEST(Refusal, AnnotatingSuccessIsSuccess) {
  EXPECT_TRUE(Annotate(absl::OkStatus(), "context").ok());
}

// Rules: EXIT-1
TEST(Refusal, ExitCodesFollowTheKind) {
  EXPECT_EQ(ExitCodeFor(absl::OkStatus()), ExitCode::EXIT_DONE);
  for (Refusal refusal : AllValues<Refusal>()) {
    const bool bad_request =
        refusal == Refusal::LOCKED || refusal == Refusal::ABSENT;
    EXPECT_EQ(ExitCodeFor(MakeRefusal(refusal, "x")),
              bad_request ? ExitCode::EXIT_BAD_REQUEST
                          : ExitCode::EXIT_CHECKPOINT_REJECTED)
        << TextOf(refusal);
  }
}

TEST(Refusal, ExitCodesOfErrorsWithoutKindFollowTheCode) {
  EXPECT_EQ(ExitCodeFor(absl::InvalidArgumentError("x")),
            ExitCode::EXIT_BAD_REQUEST);
  EXPECT_EQ(ExitCodeFor(absl::UnimplementedError("x")),
            ExitCode::EXIT_UNSUPPORTED);
  EXPECT_EQ(ExitCodeFor(absl::InternalError("x")),
            ExitCode::EXIT_TRAINING_FAILED);
}

}  // namespace
}  // namespace reprise
