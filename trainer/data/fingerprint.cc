#include "trainer/data/fingerprint.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace reprise {
namespace {

void AppendU64(uint64_t value, std::string* out) {
  for (int shift = 0; shift < 64; shift += 8) {
    out->push_back(static_cast<char>(value >> shift & 255));
  }
}

std::string Describe(const DataFingerprint& fingerprint) {
  return absl::StrCat(fingerprint.samples, " samples with ",
                      fingerprint.algorithm, " ",
                      absl::BytesToHexString(fingerprint.digest));
}

}  // namespace

DataFingerprint FingerprintOf(const Dataset& data) {
  std::string header;
  AppendU64(data.name.size(), &header);
  header += data.name;
  for (int64_t number :
       {data.size, data.channels, data.height, data.width, data.classes}) {
    AppendU64(static_cast<uint64_t>(number), &header);
  }
  if (data.is_text()) {
    AppendU64(static_cast<uint64_t>(data.sequence_length), &header);
  }
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(
      XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  XXH3_128bits_update(state.get(), header.data(), header.size());
  for (const std::vector<uint8_t>* bytes :
       {&data.images, &data.labels, &data.text}) {
    XXH3_128bits_update(state.get(), bytes->data(), bytes->size());
  }
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state.get()));
  return {std::string(kFingerprintV1),
          std::string(reinterpret_cast<const char*>(digest.digest),
                      sizeof digest.digest),
          static_cast<uint64_t>(data.size)};
}

absl::Status CheckFingerprint(const DataFingerprint& saved,
                              const Dataset& data) {
  const DataFingerprint own = FingerprintOf(data);
  if (saved.algorithm == own.algorithm && saved.digest == own.digest &&
      saved.samples == own.samples) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "data.fingerprint: the data are not those that the checkpoint was "
      "trained on; expected ",
      Describe(saved), ", found ", Describe(own)));
}

}  // namespace reprise
