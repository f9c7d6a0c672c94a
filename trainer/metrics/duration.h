// FormatDuration: seconds as people read them.
//
//   FormatDuration(0.4)    "0:00"
//   FormatDuration(83)     "1:23"
//   FormatDuration(3723)   "1:02:03"
//   FormatDuration(93784)  "1d 02:03:04"
//
// Rounded down to seconds. Negative, non-finite and absurd (a century and more)
// values give "-:--". Pure, thread-safe.
#ifndef REPRISE_TRAINER_METRICS_DURATION_H_
#define REPRISE_TRAINER_METRICS_DURATION_H_

#include <string>

namespace reprise {

std::string FormatDuration(double seconds);

}  // namespace reprise

#endif  // REPRISE_TRAINER_METRICS_DURATION_H_
