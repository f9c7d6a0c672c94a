// DatasetFromConfig: the data set that a trainer's configuration asks for.
//
//   auto train = reprise::DatasetFromConfig(config.data(), /*folder=*/"",
//                                           reprise::Split::kTrain);
//   if (!train.ok()) return train.status();
#ifndef REPRISE_TRAINER_DATA_FROM_CONFIG_H_
#define REPRISE_TRAINER_DATA_FROM_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/data/dataset.h"

namespace reprise {

// `folder` holds the files of fashion_mnist or text; empty: the data set's own
// places. Made-up images without a limit are a thousand. REQUIRES: `config` is
// resolved and valid. Errors: those of LoadFashionMnist and LoadText, which
// name the file. Thread-safe.
absl::StatusOr<Dataset> DatasetFromConfig(const trainer::v1::DataConfig& config,
                                          const std::string& folder,
                                          Split split);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_FROM_CONFIG_H_
