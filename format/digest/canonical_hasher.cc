#include "format/digest/canonical_hasher.h"

#include <xxhash.h>

#include "format/little_endian.h"

namespace reprise {

struct CanonicalHasher::State {
  XXH3_state_t xxh;
};

CanonicalHasher::CanonicalHasher() : state_(new State) {
  XXH3_128bits_reset(&state_->xxh);
}

CanonicalHasher::~CanonicalHasher() { delete state_; }

void CanonicalHasher::Number(uint64_t value) {
  std::string bytes;
  AppendLittleEndian<uint64_t>(value, &bytes);
  Raw(bytes);
}

void CanonicalHasher::String(absl::string_view value) {
  Number(value.size());
  Raw(value);
}

void CanonicalHasher::Raw(absl::string_view bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::string CanonicalHasher::Finish() {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->xxh));
  return std::string(reinterpret_cast<const char*>(canonical.digest),
                     sizeof(canonical.digest));
}

}  // namespace reprise
