// Random damage to manifests whose digest was made right again, as an attacker
// or a faulty writer would: refused with a type, or a snapshot that holds every
// rule. Replay one run with REPRISE_SEED=<seed>.
#include <random>
#include <string>

#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/random_damage.h"
#include "format/v1/codec.h"
#include "format/v1/validate.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// Rules: LOAD-1
TEST(MutationV1, C36_ChangedManifestsAreRefusedWithATypeOrHoldEveryRule) {
  std::mt19937_64 random(RandomSeed("//format/v1:mutation_test"));
  const std::string original = *EncodeV1(SmallSnapshot(60));
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string manifest = Damaged(original, &random);
    absl::StatusOr<Snapshot> decoded = DecodeV1(manifest);
    if (!decoded.ok()) {
      ++refused;
      EXPECT_NE(RefusalOf(decoded.status()), Refusal::REFUSAL_UNSPECIFIED);
      EXPECT_NE(RefusalOf(decoded.status()), Refusal::IO);
      continue;
    }
    ++accepted;
    EXPECT_TRUE(ValidateForV1(*decoded).ok());
    absl::StatusOr<std::string> again = EncodeV1(*decoded);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(DecodeV1(*again).ok());
  }
  // Changed weights are fine for the format; changed structure is not.
  EXPECT_GT(refused, accepted);
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace reprise
