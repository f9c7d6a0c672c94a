#include "format/testing/random_damage.h"

#include <cstdlib>
#include <iostream>
#include <iterator>

#include "absl/strings/numbers.h"

namespace reprise {

uint64_t RandomSeed(absl::string_view test) {
  uint64_t seed = 0;
  const char* given = std::getenv("REPRISE_SEED");
  if (given == nullptr || !absl::SimpleAtoi(given, &seed)) {
    seed = std::random_device()();
  }
  std::cout << "replay: bazel test " << test
            << " --test_env=REPRISE_SEED=" << seed << std::endl;
  return seed;
}

std::string Damaged(std::string bytes, std::mt19937_64* random) {
  auto below = [random](size_t bound) { return (*random)() % bound; };
  constexpr uint32_t kNumbers[] = {
      0, 1, 0x7f, 0x80, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe};
  const size_t changes = 1 + below(5);
  for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t at = below(bytes.size());
    const size_t length = 1 + below(16);
    switch (below(6)) {
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
      case 4:
        bytes.insert(at, std::string(length, static_cast<char>(below(256))));
        break;
      default:
        for (size_t k = 0; k < 4 && at + k < bytes.size(); ++k) {
          bytes[at + k] =
              static_cast<char>(kNumbers[below(std::size(kNumbers))] >> 8 * k);
        }
    }
  }
  return bytes;
}

}  // namespace reprise
