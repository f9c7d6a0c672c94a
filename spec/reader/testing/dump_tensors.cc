// Prints what the C++ library reads of a checkpoint folder, for comparison with
// another reader:
//
//   dump_tensors RUN/step-000000000060
//   manifest <32 hexadecimal digits>
//   <role> <name> <dtype> <extent,...> <XXH3-128 of the bytes>
//
// Roles: parameter, buffer, moment (named PARAMETER:MOMENT). A scalar's shape
// is
// "-". Exit code 1 and a message when the library refuses.
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/checkpoint_store.h"
#include "format/snapshot.h"
#include "xxhash.h"

namespace {

void Print(const std::string& role, const std::string& name,
           const reprise::Tensor& tensor) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(
      &digest, XXH3_128bits(tensor.bytes().data(), tensor.bytes().size()));
  const std::string shape =
      tensor.shape().empty() ? "-" : absl::StrJoin(tensor.shape(), ",");
  const std::string line = absl::StrCat(
      role, " ", name, " ", reprise::Name(tensor.dtype()), " ", shape, " ",
      absl::BytesToHexString({reinterpret_cast<const char*>(digest.digest),
                              sizeof(digest.digest)}));
  std::puts(line.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dump_tensors CHECKPOINT_FOLDER\n");
    return 1;
  }
  const absl::StatusOr<reprise::LoadedCheckpoint> checkpoint =
      reprise::ReadAsStored(argv[1]);
  if (!checkpoint.ok()) {
    std::fprintf(stderr, "%s\n", checkpoint.status().ToString().c_str());
    return 1;
  }
  std::printf("manifest %s\n",
              absl::BytesToHexString(checkpoint->manifest_digest).c_str());
  const reprise::Snapshot& snapshot = checkpoint->snapshot;
  for (const reprise::Tensor& tensor : snapshot.parameters) {
    Print("parameter", tensor.name(), tensor);
  }
  for (const reprise::Tensor& tensor : snapshot.buffers) {
    Print("buffer", tensor.name(), tensor);
  }
  if (snapshot.optimizer.has_value()) {
    for (const reprise::ParameterState& state : snapshot.optimizer->states) {
      for (const reprise::Tensor& moment : state.moments) {
        Print("moment", absl::StrCat(state.parameter, ":", moment.name()),
              moment);
      }
    }
  }
  return 0;
}
