#include "trainer/data/from_config.h"

#include <cstdint>

#include "trainer/data/fashion_mnist.h"
#include "trainer/data/synthetic.h"
#include "trainer/data/text.h"

namespace reprise {

absl::StatusOr<Dataset> DatasetFromConfig(const trainer::v1::DataConfig& config,
                                          const std::string& folder,
                                          Split split) {
  const uint64_t limit =
      split == Split::kTrain ? config.train_limit() : config.test_limit();
  if (config.name() == "fashion_mnist") {
    return LoadFashionMnist(folder, split, limit);
  }
  if (config.name() == "text") {
    return LoadText(folder, split, config.sequence_length(), limit);
  }
  MakeSyntheticOptions options;
  options.size = limit != 0 ? limit : 1000;
  options.height = options.width = config.synthetic_size();
  options.split = split;
  return MakeSynthetic(options);
}

}  // namespace reprise
