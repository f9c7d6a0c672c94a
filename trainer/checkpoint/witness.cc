#include "trainer/checkpoint/witness.h"

#include <ATen/core/Generator.h>
#include <ATen/ops/rand.h>
#include <xxhash.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/refusal.h"

namespace reprise {
namespace {

constexpr int64_t kDraws = 16;

std::string Digest(const void* bytes, size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
  return std::string(reinterpret_cast<const char*>(canonical.digest),
                     sizeof(canonical.digest));
}

std::string DigestOfIds(const std::vector<uint64_t>& ids) {
  std::string bytes;
  for (uint64_t id : ids) {
    for (int i = 0; i < 8; ++i) bytes.push_back(id >> (8 * i) & 0xff);
  }
  return Digest(bytes.data(), bytes.size());
}

WitnessState::Draw FirstDraws(const at::Generator& generator,
                              const std::string& name) {
  const at::Tensor draws =
      at::rand({kDraws}, generator.clone(),
               at::TensorOptions(at::kFloat).device(generator.device()))
          .to(at::kCPU)
          .contiguous();
  return {name, Digest(draws.const_data_ptr(), draws.nbytes())};
}

absl::Status Differs(absl::string_view item, absl::string_view expected,
                     absl::string_view found) {
  return MakeRefusal(
      Refusal::MISMATCH,
      absl::StrCat(item, ": the checkpoint's witness announces ", expected,
                   " for the next step, the restored objects have ", found,
                   "; something was restored wrongly or changed since"));
}

std::string Bits(double value) { return absl::StrFormat("%.17g", value); }

}  // namespace

WitnessState WitnessOf(const TrainState& state) {
  WitnessState witness;
  witness.next_samples = DigestOfIds(state.sampler->NextBatch().sample_ids);
  for (const Optimizer::Group& group : state.optimizer->groups()) {
    witness.next_lr.push_back({group.name, group.lr});
  }
  if (state.scaler != nullptr) witness.next_scale = state.scaler->scale();
  witness.draws.push_back(FirstDraws(state.cpu_generator, "cpu"));
  if (state.cuda_generator.has_value()) {
    witness.draws.push_back(FirstDraws(*state.cuda_generator, "cuda:0"));
  }
  return witness;
}

absl::Status CheckWitness(const WitnessState& saved, const TrainState& state) {
  const WitnessState now = WitnessOf(state);
  if (!saved.next_samples.empty() && saved.next_samples != now.next_samples) {
    return Differs("sampler.cursor",
                   absl::StrCat("samples with digest ",
                                absl::BytesToHexString(saved.next_samples)),
                   absl::BytesToHexString(now.next_samples));
  }
  for (const NamedNumber& lr : saved.next_lr) {
    for (const NamedNumber& live : now.next_lr) {
      if (live.name == lr.name && live.value != lr.value) {
        return Differs("sched.applied",
                       absl::StrCat("learning rate ", Bits(lr.value),
                                    " of group ", lr.name),
                       Bits(live.value));
      }
    }
  }
  if (saved.next_scale.has_value() && saved.next_scale != now.next_scale) {
    return Differs("scaler.scale",
                   absl::StrCat("scale ", Bits(*saved.next_scale)),
                   now.next_scale.has_value() ? Bits(*now.next_scale) : "none");
  }
  for (const WitnessState::Draw& draw : saved.draws) {
    for (const WitnessState::Draw& live : now.draws) {
      if (live.generator == draw.generator && live.digest != draw.digest) {
        return Differs(draw.generator == "cpu" ? "rng.cpu" : "rng.cuda",
                       absl::StrCat("draws with digest ",
                                    absl::BytesToHexString(draw.digest)),
                       absl::BytesToHexString(live.digest));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace reprise
