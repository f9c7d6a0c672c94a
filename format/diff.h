// What differs between two snapshots: by item, by field, by tensor.
//
// Example (a test as well):
//
//   reprise::SnapshotDiff diff = reprise::Diff(before, after);
//   for (const reprise::FieldDiff& field : diff.fields) {
//     std::cout << reprise::TextOf(field.item) << " " << field.path << ": "
//               << field.a << " -> " << field.b << "\n";
//   }
//   for (const reprise::TensorDiff& tensor : diff.tensors) {
//     std::cout << reprise::Describe(tensor) << "\n";
//   }
//
// Snapshots may be of any version. Neither has to be valid. Thread-safe.
#ifndef REPRISE_FORMAT_DIFF_H_
#define REPRISE_FORMAT_DIFF_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "format/snapshot.h"

namespace reprise {

// A field, or an item's record, that is not the same.
struct FieldDiff {
  Item item = vocab::ITEM_UNSPECIFIED;
  std::string path;  // "scaler.scale"; "presence" for the record
  std::string a, b;  // values as text, floats exactly; "absent"
};

// A tensor that is not the same bit for bit.
struct TensorDiff {
  enum class Kind {
    kOnlyInA,
    kOnlyInB,
    kDtype,
    kShape,
    kOrder,  // of dimensions in memory; the values are compared too
    kValues,
  };
  Item item = vocab::ITEM_UNSPECIFIED;
  std::string name;  // of the parameter, for moments
  std::string part;  // "exp_avg"
  Kind kind = Kind::kValues;
  // Of kValues and kOrder, counted in the logical (row-major) order of
  // elements, whatever the order in memory.
  uint64_t elements = 0;
  uint64_t differing = 0;             // elements whose bits differ
  std::optional<uint64_t> first;      // place of the first of them
  std::vector<uint64_t> first_index;  // the same, by dimension
  // Largest distance in units in the last place; for floating-point types, over
  // elements that are finite in both. Absent: there are none.
  std::optional<uint64_t> max_ulp;
  uint64_t non_finite = 0;  // differing ones that are not
};

struct SnapshotDiff {
  std::vector<FieldDiff> fields;    // by item
  std::vector<TensorDiff> tensors;  // by item, name, part

  bool empty() const { return fields.empty() && tensors.empty(); }
  // Items that differ in any way.
  std::set<Item> items() const;
};

// Compares everything that is training state: not identity, clock, host and
// history, but the environment. Time: that of reading all tensors once.
SnapshotDiff Diff(const Snapshot& a, const Snapshot& b);

// One tensor against another; nullopt when they are the same.
std::optional<TensorDiff> DiffTensors(const Tensor& a, const Tensor& b);

// "model.params fc.weight: 3 of 6 elements differ, the first at [0, 2], by at
// most 1 ulp".
std::string Describe(const TensorDiff& diff);

}  // namespace reprise

#endif  // REPRISE_FORMAT_DIFF_H_
