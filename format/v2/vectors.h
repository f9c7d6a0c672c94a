// The test vectors of format version 2: small checkpoint folders and what a
// reader says. They are committed under spec/vectors/v2; this is where they
// come from.
#ifndef REPRISE_FORMAT_V2_VECTORS_H_
#define REPRISE_FORMAT_V2_VECTORS_H_

#include <map>
#include <string>
#include <vector>

#include "reprise/spec/vectors/expect.pb.h"

namespace reprise {

struct VectorV2 {
  // What expect.textproto says; of valid ones value digest and tensors too.
  vectors::v1::Vector expected;
  // Files of the folder: name and content.
  std::map<std::string, std::string> files;
};

std::vector<VectorV2> VectorsOfV2();

// The text of expect.textproto.
std::string ExpectationsOf(const std::vector<VectorV2>& vectors);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_VECTORS_H_
