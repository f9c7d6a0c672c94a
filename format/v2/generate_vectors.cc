// Writes the test vectors of format version 2:
//
//   bazel run //format/v2:generate_vectors              # into spec/vectors/v2
//   bazel run //format/v2:generate_vectors -- FOLDER
//
// Released vectors are never changed; new ones are added.
#include "format/testing/test_vector.h"
#include "format/v2/vectors.h"

int main(int argc, char** argv) {
  return reprise::GenerateVectors(argc, argv, "spec/vectors/v2",
                                  reprise::VectorsOfV2());
}
