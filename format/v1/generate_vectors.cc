// Writes the test vectors of format version 1:
//
//   bazel run //format/v1:generate_vectors              # into spec/vectors/v1
//   bazel run //format/v1:generate_vectors -- FOLDER
//
// Released vectors are never changed; new ones are added.
#include "format/testing/test_vector.h"
#include "format/v1/vectors.h"

int main(int argc, char** argv) {
  return reprise::GenerateVectors(argc, argv, "spec/vectors/v1",
                                  reprise::VectorsOfV1());
}
