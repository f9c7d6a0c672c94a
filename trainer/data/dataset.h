// Dataset: labelled 8-bit images held in memory.
//
//   reprise::Dataset data = reprise::MakeSynthetic({/*size=*/1000});
//   const uint8_t* third = data.image(2);
//
// Immutable by convention once loaded, so safe to share between threads.
//
// Legend: N samples, C channels, H height, W width.
#ifndef REPRISE_TRAINER_DATA_DATASET_H_
#define REPRISE_TRAINER_DATA_DATASET_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

enum class Split { kTrain = 0, kTest = 1 };

struct Dataset {
  std::string name;
  int64_t size = 0;  // N
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t classes = 0;
  std::vector<uint8_t> images;  // [N, C, H, W] row-major, 0 to 255
  std::vector<uint8_t> labels;  // [N], less than classes

  int64_t image_bytes() const { return channels * height * width; }
  // The [C, H, W] pixels of a sample. REQUIRES: sample < size.
  const uint8_t* image(uint64_t sample) const {
    return images.data() + sample * image_bytes();
  }
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_DATASET_H_
