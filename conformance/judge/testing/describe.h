// What the judge's tests say about themselves: their seed, and a verdict that
// was not the expected one.
#ifndef REPRISE_CONFORMANCE_JUDGE_TESTING_DESCRIBE_H_
#define REPRISE_CONFORMANCE_JUDGE_TESTING_DESCRIBE_H_

#include <cstdint>
#include <string>

#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance::testing {

// REPRISE_SEED, else a random one; prints how to have it again.
uint64_t Seed();

// Summary, findings, resumes and notes, a line each.
std::string Describe(const v1::Verdict& verdict);

}  // namespace reprise::conformance::testing

#endif  // REPRISE_CONFORMANCE_JUDGE_TESTING_DESCRIBE_H_
