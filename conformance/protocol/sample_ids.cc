#include "conformance/protocol/sample_ids.h"

#include <xxhash.h>

#include "absl/strings/str_format.h"

namespace reprise::conformance {

std::string SampleIdsDigest(const std::vector<uint64_t>& ids) {
  std::string bytes;
  bytes.reserve(ids.size() * 8);
  for (uint64_t id : ids) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes.push_back(static_cast<char>(id >> shift));
    }
  }
  return absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace reprise::conformance
