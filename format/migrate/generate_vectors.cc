// Writes the test vectors of migrations:
//
//   bazel run //format/migrate:generate_vectors              # into
//   spec/vectors/migration bazel run //format/migrate:generate_vectors --
//   FOLDER
//
// Released vectors are never changed; new ones are added.
#include "format/migrate/vectors.h"
#include "format/testing/test_vector.h"

int main(int argc, char** argv) {
  return reprise::GenerateVectors(argc, argv, "spec/vectors/migration",
                                  reprise::MigrationVectors());
}
