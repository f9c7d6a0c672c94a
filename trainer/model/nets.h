// The models behind MakeModel, one factory each.
#ifndef REPRISE_TRAINER_MODEL_NETS_H_
#define REPRISE_TRAINER_MODEL_NETS_H_

#include <memory>

#include "trainer/model/model.h"

namespace reprise {

std::unique_ptr<Model> MakeConvNet(const ModelOptions& options);
std::unique_ptr<Model> MakeGpt(const ModelOptions& options);
std::unique_ptr<Model> MakeMlp(const ModelOptions& options);
std::unique_ptr<Model> MakeResNet18(const ModelOptions& options);

}  // namespace reprise

#endif  // REPRISE_TRAINER_MODEL_NETS_H_
