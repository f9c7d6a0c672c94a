// The test vectors of migrations: a checkpoint before, and what it is after, or
// why there is none. They are committed under spec/vectors/migration; this is
// where they come from.
#ifndef REPRISE_FORMAT_MIGRATE_VECTORS_H_
#define REPRISE_FORMAT_MIGRATE_VECTORS_H_

#include <map>
#include <string>
#include <vector>

#include "reprise/spec/vectors/expect.pb.h"

namespace reprise {

struct MigrationVector {
  // What expect.textproto says.
  vectors::v1::Vector expected;
  // "before/manifest.ckpt", "after/shard-0000-0000.bin", ...: content.
  std::map<std::string, std::string> files;
};

std::vector<MigrationVector> MigrationVectors();

// The text of expect.textproto.
std::string ExpectationsOf(const std::vector<MigrationVector>& vectors);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_VECTORS_H_
