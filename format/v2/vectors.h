// The test vectors of format version 2: small checkpoint folders and what a
// reader says. They are committed under spec/vectors/v2; this is where they
// come from.
#ifndef REPRISE_FORMAT_V2_VECTORS_H_
#define REPRISE_FORMAT_V2_VECTORS_H_

#include <vector>

#include "format/testing/test_vector.h"

namespace reprise {

std::vector<TestVector> VectorsOfV2();

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_VECTORS_H_
