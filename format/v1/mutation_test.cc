// Random damage to manifests whose digest was made right again, as an attacker
// or a faulty writer would: refused with a type, or a snapshot that holds every
// rule. Replay one run with REPRISE_SEED=<seed>.
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "absl/strings/numbers.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"
#include "format/v1/validate.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

uint64_t Seed() {
  uint64_t seed = 0;
  const char* given = std::getenv("REPRISE_SEED");
  if (given == nullptr || !absl::SimpleAtoi(given, &seed)) {
    seed = std::random_device()();
  }
  std::cout << "replay: REPRISE_SEED=" << seed
            << " bazel test //format/v1:mutation_test --test_env=REPRISE_SEED"
            << std::endl;
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

// Rules: LOAD-1
TEST(MutationV1, C36_ChangedManifestsAreRefusedWithATypeOrHoldEveryRule) {
  std::mt19937_64 random(Seed());
  const std::string original = *EncodeV1(SmallSnapshot(60));
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string manifest = Mutate(original, &random);
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
