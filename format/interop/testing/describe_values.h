// Prints values as tools/parity/interop.py does: one line for each, in order:
// path, kind, exact contents.
#ifndef REPRISE_FORMAT_INTEROP_TESTING_DESCRIBE_VALUES_H_
#define REPRISE_FORMAT_INTEROP_TESTING_DESCRIBE_VALUES_H_

#include <string>

#include "format/interop/pickle.h"
#include "format/tensor.h"

namespace reprise {

// Lines of `value` and everything below it.
std::string DescribeValues(const PyValue& value, const std::string& path = "");

// "PATH tensor f32 [2,3] HEX\n", elements row-major.
std::string DescribeTensor(const Tensor& tensor, const std::string& path);

// A file of format/interop/fixtures.
std::string FixturePath(const std::string& name);
std::string ReadFixture(const std::string& name);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_TESTING_DESCRIBE_VALUES_H_
