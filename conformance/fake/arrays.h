// Named arrays of floats, and the half-precision rounding that the fake trainer
// emulates.
//
//   Array* weight = Find("hidden1.weight", state.mutable_parameters());
//
// Pure functions, thread-safe.
#ifndef REPRISE_CONFORMANCE_FAKE_ARRAYS_H_
#define REPRISE_CONFORMANCE_FAKE_ARRAYS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "conformance/fake/state.pb.h"

namespace reprise::conformance::fake {

using Arrays = google::protobuf::RepeatedPtrField<Array>;

// The array of that name; null when there is none.
Array* Find(absl::string_view name, Arrays* arrays);
const Array* Find(absl::string_view name, const Arrays& arrays);

// Of the same names and shapes, all zero.
Arrays ZerosLike(const Arrays& arrays);

// L2 norm over all elements, summed in double.
double Norm(const Arrays& arrays);
// L2 norm of a - b, which have the same names and shapes.
double Distance(const Array& a, const Array& b);

// `value` rounded to the nearest number of the format ("fp32", "bf16" or
// "fp16"), ties to even. Beyond the largest fp16 number, 65504, it is infinite.
float RoundTo(absl::string_view precision, float value);
void RoundTo(absl::string_view precision, Array* array);

// What the optimizer updates: the fp32 masters where there are some.
const Arrays& Trained(const State& state);
Arrays* Trained(State* state);

bool IsFrozen(const State& state, absl::string_view parameter);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_ARRAYS_H_
