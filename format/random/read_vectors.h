// ReadVectors: the released vectors of an algorithm, for tests.
//
//   for (const std::vector<std::string>& row :
//   reprise::ReadVectors("feistel-v1"))
//
// Comments and empty lines are left out; a row is a line's fields, split at
// blanks. Aborts when the file is not among the test's data.
#ifndef REPRISE_FORMAT_RANDOM_READ_VECTORS_H_
#define REPRISE_FORMAT_RANDOM_READ_VECTORS_H_

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace reprise {

inline std::vector<std::vector<std::string>> ReadVectors(
    const std::string& name) {
  std::string path = "spec/vectors/algorithms/" + name + ".txt";
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::vector<std::string> row;
    for (std::string field; fields >> field;) row.push_back(field);
    if (!row.empty() && row[0][0] != '#') rows.push_back(row);
  }
  if (rows.empty()) {
    std::cerr << path << ": no vectors; is it in the test's data?\n";
    std::abort();
  }
  return rows;
}

}  // namespace reprise

#endif  // REPRISE_FORMAT_RANDOM_READ_VECTORS_H_
