// Random damage to manifests whose digests were made right again, as an
// attacker or a faulty writer would: refused with a type, or every rule holds.
// Replay one run with REPRISE_SEED=<seed>.
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "absl/strings/numbers.h"
#include "format/refusal.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/codec.h"
#include "format/v2/items.h"
#include "format/v2/save.h"
#include "format/v2/validate.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

uint64_t Seed() {
  uint64_t seed = 0;
  const char* given = std::getenv("REPRISE_SEED");
  if (given == nullptr || !absl::SimpleAtoi(given, &seed)) {
    seed = std::random_device()();
  }
  std::cout << "replay: bazel test //format/v2:mutation_test "
            << "--test_env=REPRISE_SEED=" << seed << std::endl;
  return seed;
}

std::string Mutate(std::string bytes, std::mt19937_64* random) {
  auto below = [random](size_t bound) { return (*random)() % bound; };
  const size_t changes = 1 + below(4);
  for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t at = below(bytes.size());
    const size_t length = 1 + below(16);
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), length));
        break;
      default:
        bytes.insert(at, std::string(length, static_cast<char>(below(256))));
    }
  }
  return bytes;
}

TEST(MutationV2, C36_ChangedManifestsAreRefusedWithATypeOrHoldEveryRule) {
  std::mt19937_64 random(Seed());
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
    std::string manifest = Mutate(original, &random);
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
