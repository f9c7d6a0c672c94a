// Between LibTorch's random generators and the checkpoint's.
//
//   at::Generator generator =
//       at::globalContext().defaultGenerator(at::Device(at::kCPU));
//   snapshot.generators = {reprise::SaveGenerator(generator, "cpu")};
//   ...
//   // Last of all: building and loading a model draw from it.
//   absl::Status loaded =
//       reprise::LoadGenerator(snapshot.generators, "cpu", &generator);
#ifndef REPRISE_TRAINER_CHECKPOINT_TORCH_GENERATOR_H_
#define REPRISE_TRAINER_CHECKPOINT_TORCH_GENERATOR_H_

#include <ATen/core/Generator.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "format/snapshot.h"

namespace reprise {

// The state of `generator` under `name` ("cpu", "cuda:0"): its bytes, which
// algorithm and version of LibTorch they are of, and of a GPU's its seed and
// offset.
GeneratorState SaveGenerator(const at::Generator& generator, std::string name);

// Makes `generator` the one that was saved under `name`: it draws next what
// that would have. Errors, which begin with the item (rng.cpu, rng.cuda) and
// change nothing: MISSING_ITEM, MISMATCH when the state is one of another
// version of LibTorch or has another length.
absl::Status LoadGenerator(const std::vector<GeneratorState>& saved,
                           absl::string_view name, at::Generator* generator);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_TORCH_GENERATOR_H_
