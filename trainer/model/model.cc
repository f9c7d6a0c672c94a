#include "trainer/model/model.h"

#include "absl/strings/str_cat.h"
#include "trainer/model/nets.h"

namespace reprise {

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ModelOptions& options) {
  if (options.kind == "convnet") return MakeConvNet(options);
  if (options.kind == "mlp") return MakeMlp(options);
  if (options.kind == "resnet18") return MakeResNet18(options);
  if (options.kind == "gpt") {
    if (options.heads < 1 || options.hidden % options.heads != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("model.heads: expected a divisor of model.hidden (",
                       options.hidden, "), found ", options.heads));
    }
    return MakeGpt(options);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "model.kind: expected convnet, mlp, resnet18 or gpt, found \"",
      options.kind, "\""));
}

}  // namespace reprise
