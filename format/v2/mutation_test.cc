// Random damage to manifests whose digests were made right again, as an
// attacker or a faulty writer would: refused with a type, or every rule holds.
// Replay one run with REPRISE_SEED=<seed>.
#include <iostream>
#include <random>
#include <string>

#include "format/refusal.h"
#include "format/testing/full_snapshot.h"
#include "format/testing/random_damage.h"
#include "format/v2/codec.h"
#include "format/v2/items.h"
#include "format/v2/save.h"
#include "format/v2/validate.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(MutationV2, C36_ChangedManifestsAreRefusedWithATypeOrHoldEveryRule) {
  std::mt19937_64 random(RandomSeed("//format/v2:mutation_test"));
  SaveV2Options options;
  options.shard_bytes = 100;
  auto plan = PlanV2(FullSnapshotInStep(60, 2), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (TableEntry& entry : plan->draft.tensors) entry.root.assign(16, 'r');
  const std::string original = EncodeV2(plan->draft, plan->shards)->manifest;
  ASSERT_TRUE(DecodeV2(original).ok());
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string manifest = Damaged(original, &random);
    // What parses gets its value digest back, so that the rules behind it are
    // reached.
    const std::string repaired =
        EditedManifestV2(manifest, [](checkpoint::v2::Manifest*) {});
    if (i % 4 != 0 && !repaired.empty()) manifest = repaired;
    absl::StatusOr<ManifestV2> decoded = DecodeV2(manifest, i % 8 == 7 ? 1 : 0);
    if (!decoded.ok()) {
      ++refused;
      EXPECT_NE(RefusalOf(decoded.status()), Refusal::REFUSAL_UNSPECIFIED);
      EXPECT_NE(RefusalOf(decoded.status()), Refusal::IO);
      continue;
    }
    ++accepted;
    EXPECT_TRUE(CheckInventoryV2(decoded->snapshot).ok());
    EXPECT_TRUE(CheckFieldsV2(decoded->message, decoded->snapshot).ok());
    EXPECT_TRUE(ValidateForV2(decoded->snapshot).ok());
    EXPECT_TRUE(CheckPacking(decoded->tensors, decoded->shards).ok());
  }
  EXPECT_GT(refused, accepted);
  EXPECT_GT(accepted, 0);
  std::cout << refused << " refused, " << accepted << " accepted" << std::endl;
}

}  // namespace
}  // namespace reprise
