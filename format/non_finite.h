// Finds NaN and infinity in tensors.
//
// Example (a test as well):
//
//   for (const std::string& name : reprise::NonFiniteTensors(snapshot)) {
//     std::cerr << "not finite: " << name << "\n";
//   }
//
// A checkpoint may hold such values: storing them faithfully is the format's
// task, judging them the reader's. Thread-safe.
#ifndef REPRISE_FORMAT_NON_FINITE_H_
#define REPRISE_FORMAT_NON_FINITE_H_

#include <string>
#include <vector>

#include "format/snapshot.h"

namespace reprise {

// Whether any element is NaN or infinite; false for integers and booleans.
bool HasNonFinite(const Tensor& tensor);

// Names of the tensors of `snapshot` with a non-finite element, in its order:
// "fc.weight" for parameters and buffers, "fc.weight/exp_avg" for moments.
std::vector<std::string> NonFiniteTensors(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_NON_FINITE_H_
