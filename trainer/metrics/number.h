// How numbers and text are written in events, so that no bit of a float is
// lost and a person can still read it:
//
//   JsonFloat(0.5f)   {"v":0.5,"bits":"3f000000"}
//   JsonDouble(0.5)   {"v":0.5,"bits":"3fe0000000000000"}
//   JsonFloat(NAN)    {"v":null,"bits":"7fc00000"}
//   JsonString("a\n") "a\n", quotes included
//
// `bits` (8 hexadecimal digits for 32 bits, 16 for 64; IEEE 754, most
// significant first) is the value. `v` is the shortest decimal that reads back
// to it, null when the value is not finite. Pure functions, thread-safe.
#ifndef REPRISE_TRAINER_METRICS_NUMBER_H_
#define REPRISE_TRAINER_METRICS_NUMBER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

std::string JsonFloat(float value);
std::string JsonDouble(double value);

// 16 lower-case hexadecimal digits.
std::string Hex64(uint64_t value);

// `text` (UTF-8) between quotes; quotes, backslashes and control characters are
// escaped.
std::string JsonString(absl::string_view text);

}  // namespace reprise

#endif  // REPRISE_TRAINER_METRICS_NUMBER_H_
