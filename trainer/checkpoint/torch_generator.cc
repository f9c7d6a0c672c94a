#include "trainer/checkpoint/torch_generator.h"

#include <ATen/ATen.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "trainer/version.h"

namespace reprise {
namespace {

std::string Library() { return absl::StrCat("libtorch ", LibTorchVersion()); }

absl::Status Mismatch(absl::string_view item, absl::string_view message) {
  return MakeRefusal(Refusal::MISMATCH, absl::StrCat(item, ": ", message));
}

}  // namespace

GeneratorState SaveGenerator(const at::Generator& generator, std::string name) {
  const bool gpu = generator.device().is_cuda();
  const at::Tensor bytes = generator.get_state();  // u8 [n]
  GeneratorState saved;
  saved.name = std::move(name);
  saved.algorithm = gpu ? "philox4x32-10" : "mt19937";
  saved.library = Library();
  saved.state.assign(static_cast<const char*>(bytes.const_data_ptr()),
                     bytes.numel());
  if (gpu) {
    saved.seed = generator.current_seed();
    saved.offset = generator.get_offset();
  }
  return saved;
}

absl::Status LoadGenerator(const std::vector<GeneratorState>& saved,
                           absl::string_view name, at::Generator* generator) {
  const char* item = generator->device().is_cuda() ? "rng.cuda" : "rng.cpu";
  for (const GeneratorState& one : saved) {
    if (one.name != name) continue;
    if (one.library != Library()) {
      return Mismatch(item, absl::StrCat("expected a state of ", Library(),
                                         ", found one of ", one.library));
    }
    const int64_t expected = generator->get_state().numel();
    if (static_cast<int64_t>(one.state.size()) != expected) {
      return Mismatch(item, absl::StrCat("expected ", expected,
                                         " bytes, found ", one.state.size()));
    }
    at::Tensor bytes = at::empty({expected}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), one.state.data(), one.state.size());
    generator->set_state(bytes);
    return absl::OkStatus();
  }
  return MakeRefusal(
      Refusal::MISSING_ITEM,
      absl::StrCat(item, ": the checkpoint has no state of generator ", name));
}

}  // namespace reprise
