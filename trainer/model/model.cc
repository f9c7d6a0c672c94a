#include "trainer/model/model.h"

#include "absl/strings/str_cat.h"
#include "trainer/model/nets.h"

namespace reprise {

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ModelOptions& options) {
  if (options.kind == "convnet") return MakeConvNet(options);
  if (options.kind == "mlp") return MakeMlp(options);
  if (options.kind == "resnet18") return MakeResNet18(options);
  return absl::InvalidArgumentError(
      absl::StrCat("model.kind: expected convnet, mlp or resnet18, found \"",
                   options.kind, "\""));
}

}  // namespace reprise
