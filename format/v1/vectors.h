// The test vectors of format version 1: small files and what a reader says.
// They are committed under spec/vectors/v1; this is where they come from.
#ifndef REPRISE_FORMAT_V1_VECTORS_H_
#define REPRISE_FORMAT_V1_VECTORS_H_

#include <string>
#include <vector>

namespace reprise {

struct Vector {
  // Path below spec/vectors/v1.
  std::string file;
  // "VALID", or the canonical text of the refusal.
  std::string outcome;
  // Rules of spec/SPEC.md that decide it.
  std::string rules;
  // Part of the message of the refusal.
  std::string text;
  // Content of the file.
  std::string bytes;
};

std::vector<Vector> VectorsOfV1();

// The index: a header line, then file, outcome, rules and text of each vector,
// separated by tabs.
std::string IndexOf(const std::vector<Vector>& vectors);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_VECTORS_H_
