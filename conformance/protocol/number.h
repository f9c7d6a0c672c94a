// Numbers of the conformance protocol: a value with its bits, and what a reader
// may conclude from one.
//
//   Number loss = NumberOf(0.5f);            // {"v": 0.5, "bits": "3f000000"}
//   absl::StatusOr<Reading> reading = Read(loss);
//   // reading->value == 0.5, reading->exact()
//
//   Read(NumberOfText("0.6931"));  // 0.6931, resolution 0.00005
//
// `bits` is the truth where it is given: `v` only serves readers of the log.
// Pure functions, thread-safe.
#ifndef REPRISE_CONFORMANCE_PROTOCOL_NUMBER_H_
#define REPRISE_CONFORMANCE_PROTOCOL_NUMBER_H_

#include <cmath>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise::conformance {

using Number = v1::Number;

// With 8 hexadecimal digits of bits (float) or 16 (double). `v` is absent when
// the value is not finite; the bits say which.
Number NumberOf(float value);
Number NumberOf(double value);

// As printed by a program that gives no bits: `text` and, when it is a finite
// decimal number, `v`.
Number NumberOfText(absl::string_view text);

struct Reading {
  double value = 0;  // may be infinite or NaN
  // The value is known to +- this much: 0 with bits or a non-finite text.
  double resolution = 0;
  // 32 or 64 with bits, else 0.
  int width = 0;

  bool exact() const { return resolution == 0; }
  bool finite() const { return std::isfinite(value); }
};

// What `number` says: from `bits`, else from `text` (half a unit of its last
// digit), else from `v` alone, whose resolution is that of a float32 (2^-24
// relative) because nobody said that it is more. Errors: InvalidArgument for
// bits that are not 8 or 16 hexadecimal digits, a text that is no number, a `v`
// that contradicts the bits, and for none of the three.
absl::StatusOr<Reading> Read(const Number& number);

// Whether both carry bits of the same width and these are equal. Equal NaNs are
// the same; 0 and -0 are not.
bool SameBits(const Number& a, const Number& b);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_PROTOCOL_NUMBER_H_
