// The test vectors of format version 1: small files and what a reader says.
// They are committed under spec/vectors/v1; this is where they come from.
#ifndef REPRISE_FORMAT_V1_VECTORS_H_
#define REPRISE_FORMAT_V1_VECTORS_H_

#include <vector>

#include "format/testing/test_vector.h"

namespace reprise {

std::vector<TestVector> VectorsOfV1();

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_VECTORS_H_
