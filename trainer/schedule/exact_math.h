// CosPi and Power: functions whose bits are the same on every machine, because
// they are built from single IEEE operations in a fixed order. The C library's
// differ in the last bit between versions and processors. Specified operation
// by operation in spec/ALGORITHMS.md; compile with -ffp-contract=off.
#ifndef REPRISE_TRAINER_SCHEDULE_EXACT_MATH_H_
#define REPRISE_TRAINER_SCHEDULE_EXACT_MATH_H_

#include <cstdint>

namespace reprise {

// cos(pi t) within 3e-16, for t in [0, 1].
double CosPi(double t);

// base to the power of exponent, within one unit in the last place where the
// result is above 1e-290; for base in [0, 1].
double Power(double base, uint64_t exponent);

}  // namespace reprise

#endif  // REPRISE_TRAINER_SCHEDULE_EXACT_MATH_H_
