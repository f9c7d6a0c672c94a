// XXH3-128 over a canonical sequence of numbers and strings.
//
// Example:
//
//   reprise::CanonicalHasher hasher;
//   hasher.Number(60);       // eight bytes, little-endian
//   hasher.String("cpu");    // its length as a number, then its bytes
//   std::string digest = hasher.Finish();  // 16 bytes
//
// Not thread-safe.
#ifndef REPRISE_FORMAT_DIGEST_CANONICAL_HASHER_H_
#define REPRISE_FORMAT_DIGEST_CANONICAL_HASHER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

class CanonicalHasher {
 public:
  CanonicalHasher();
  ~CanonicalHasher();
  CanonicalHasher(const CanonicalHasher&) = delete;
  CanonicalHasher& operator=(const CanonicalHasher&) = delete;

  void Number(uint64_t value);
  void String(absl::string_view value);
  // Bytes without their length.
  void Raw(absl::string_view bytes);
  // 16 bytes, most significant first.
  std::string Finish();

 private:
  struct State;
  State* const state_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_DIGEST_CANONICAL_HASHER_H_
