#include "format/run_id.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise {

std::string DrawRunId() {
  std::random_device entropy;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::StrFormat("%08x", entropy()));
  }
  return id;
}

}  // namespace reprise
