// What random tests share: a seed that is printed, and changes of bytes.
#ifndef REPRISE_FORMAT_TESTING_RANDOM_DAMAGE_H_
#define REPRISE_FORMAT_TESTING_RANDOM_DAMAGE_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// $REPRISE_SEED, or another one each time; prints how to run the test (a label)
// with it again.
uint64_t RandomSeed(absl::string_view test);

// One to five of: another byte, another bit, bytes removed, copied, inserted, a
// number of four bytes replaced by one that is often wrong.
std::string Damaged(std::string bytes, std::mt19937_64* random);

}  // namespace reprise

#endif  // REPRISE_FORMAT_TESTING_RANDOM_DAMAGE_H_
