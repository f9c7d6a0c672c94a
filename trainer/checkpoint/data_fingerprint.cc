#include "trainer/checkpoint/data_fingerprint.h"

#include <xxhash.h>

#include <cstdint>
#include <string>

namespace reprise {
namespace {

void AppendU64(uint64_t value, std::string* bytes) {
  for (int i = 0; i < 8; ++i) bytes->push_back(value >> (8 * i) & 0xff);
}

}  // namespace

DataFingerprint FingerprintOf(const Dataset& data) {
  std::string head;
  AppendU64(data.name.size(), &head);
  head += data.name;
  for (int64_t number :
       {data.size, data.channels, data.height, data.width, data.classes}) {
    AppendU64(number, &head);
  }
  XXH3_state_t* hash = XXH3_createState();
  XXH3_128bits_reset(hash);
  XXH3_128bits_update(hash, head.data(), head.size());
  XXH3_128bits_update(hash, data.images.data(), data.images.size());
  XXH3_128bits_update(hash, data.labels.data(), data.labels.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash));
  XXH3_freeState(hash);
  return {std::string(kFingerprintV1),
          std::string(reinterpret_cast<const char*>(canonical.digest),
                      sizeof(canonical.digest)),
          static_cast<uint64_t>(data.size)};
}

}  // namespace reprise
