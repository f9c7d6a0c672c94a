#include "trainer/restored_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/metrics/wrapped.h"

namespace reprise {

std::string RestoredTable(const std::string& path, const Snapshot& snapshot,
                          const std::vector<Item>& anew, int columns) {
  std::vector<std::string> names;
  for (Item item : anew) names.push_back(TextOf(item));
  std::string table = absl::StrCat("Restored from ", path, ":\n");
  for (const RestoredItem& row : DescribeRestored(snapshot)) {
    const bool begun = std::count(names.begin(), names.end(), row.item) > 0;
    absl::StrAppend(
        &table, Wrapped(absl::StrFormat("  %-21s %-14s ", row.item,
                                        begun ? "BEGUN ANEW" : row.presence),
                        row.value, columns));
  }
  if (!names.empty()) {
    absl::StrAppend(
        &table, Wrapped("",
                        absl::StrCat("Not in the checkpoint and begun anew, as "
                                     "--accept_missing allows: ",
                                     absl::StrJoin(names, ", ")),
                        columns));
  }
  return table;
}

}  // namespace reprise
