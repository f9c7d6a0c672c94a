// Dataset: labelled 8-bit images, or text as sequences of bytes, in memory.
//
//   reprise::Dataset data = reprise::MakeSynthetic({/*size=*/1000});
//   const uint8_t* third = data.image(2);
//
// Immutable by convention once loaded, so safe to share between threads.
//
// A sample of text is a window of T bytes; its labels are the T bytes that
// follow each of them. Windows do not overlap:
//
//   text     b0 b1 ... bT b(T+1) ...       sample 0: input  b0 ... b(T-1)
//                                                    labels b1 ... bT
//
// Legend: N samples, C channels, H height, W width, T sequence length.
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
  // Of text: T, and N * T + 1 bytes; then there are no images and labels, and
  // 256 classes.
  int64_t sequence_length = 0;
  std::vector<uint8_t> text;

  bool is_text() const { return sequence_length > 0; }
  // The T + 1 bytes of a sample and its labels. REQUIRES: sample < size.
  const uint8_t* window(uint64_t sample) const {
    return text.data() + sample * sequence_length;
  }

  int64_t image_bytes() const { return channels * height * width; }
  // The [C, H, W] pixels of a sample. REQUIRES: sample < size.
  const uint8_t* image(uint64_t sample) const {
    return images.data() + sample * image_bytes();
  }
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_DATASET_H_
