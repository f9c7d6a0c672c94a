// Reads the fixtures that tools/parity/fixtures.py wrote: lines of words, '#'
// starts a comment line, every number is the hexadecimal digits of its bits.
#ifndef REPRISE_TRAINER_PARITY_FIXTURE_H_
#define REPRISE_TRAINER_PARITY_FIXTURE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

using Words = std::vector<std::string>;

// The lines of trainer/parity/fixtures/<name>, split at spaces. Fails the
// running test when the file cannot be read.
std::vector<Words> ReadFixture(const std::string& name);

float F32(const std::string& bits);   // 8 digits
double F64(const std::string& bits);  // 16 digits

// Units in the last place between two finite floats of equal sign; 2^32 when
// signs or finiteness differ. 0 exactly when the bits are equal, or both are
// NaN, or both are zero of either sign.
uint64_t UlpDistance(float a, float b);
uint64_t UlpDistance(double a, double b);

// The generator's fixed values: in [-1, 1), exact in fp32.
at::Tensor FixedValues(std::vector<int64_t> shape, uint32_t seed = 12345);

}  // namespace reprise

#endif  // REPRISE_TRAINER_PARITY_FIXTURE_H_
