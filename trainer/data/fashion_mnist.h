// LoadFashionMnist: the Fashion-MNIST images from gzip-compressed IDX files.
//
//   auto train = reprise::LoadFashionMnist(/*folder=*/"",
//                                          reprise::Split::kTrain,
//                                          /*limit=*/0);
//   if (!train.ok()) return train.status();
//
// Every byte of both files is checked: gzip's own checksum, magic, counts, end
// of file, label range.
#ifndef REPRISE_TRAINER_DATA_FASHION_MNIST_H_
#define REPRISE_TRAINER_DATA_FASHION_MNIST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"

namespace reprise {

// The folder that holds the four files. `folder` itself when it is not empty,
// else the copy among this program's runfiles, else the one that Debian's
// dataset-fashion-mnist installs. NOT_FOUND naming every place looked at.
absl::StatusOr<std::string> FindFashionMnist(const std::string& folder);

// Reads train-* or t10k-* of FindFashionMnist(folder); 28 x 28 pixels, one
// channel, ten classes, of which the first `limit` samples (0: all).
// Errors: NOT_FOUND; DATA_LOSS for a damaged or cut file, naming the file, what
// was expected and what was found; INVALID_ARGUMENT for a limit above the
// number of samples. Takes about 0.3 s for the training images.
absl::StatusOr<Dataset> LoadFashionMnist(const std::string& folder, Split split,
                                         uint64_t limit);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_FASHION_MNIST_H_
