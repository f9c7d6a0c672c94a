// The test vectors of migrations: a checkpoint before, and what it is after, or
// why there is none, in the folders `before` and `after`. They are committed
// under spec/vectors/migration; this is where they come from.
#ifndef REPRISE_FORMAT_MIGRATE_VECTORS_H_
#define REPRISE_FORMAT_MIGRATE_VECTORS_H_

#include <vector>

#include "format/testing/test_vector.h"

namespace reprise {

std::vector<TestVector> MigrationVectors();

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_VECTORS_H_
