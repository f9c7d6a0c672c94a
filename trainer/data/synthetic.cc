#include "trainer/data/synthetic.h"

#include <cassert>
#include <vector>

#include "format/random/philox.h"

namespace reprise {
namespace {

constexpr int64_t kBlock = 4;

// Whether each pixel of the unshifted pattern of class `label` is lit, [H, W].
std::vector<bool> MakePattern(const MakeSyntheticOptions& options,
                              int64_t label) {
  Stream stream(options.seed, StreamPurpose::kSyntheticPattern, 0, label);
  int64_t across = (options.width + kBlock - 1) / kBlock;
  int64_t down = (options.height + kBlock - 1) / kBlock;
  std::vector<bool> blocks(across * down);
  for (int64_t i = 0; i < across * down; ++i) {
    blocks[i] = stream.UniformU32Below(2) == 1;
  }
  std::vector<bool> pattern(options.height * options.width);
  for (int64_t y = 0; y < options.height; ++y) {
    for (int64_t x = 0; x < options.width; ++x) {
      pattern[y * options.width + x] = blocks[y / kBlock * across + x / kBlock];
    }
  }
  return pattern;
}

}  // namespace

Dataset MakeSynthetic(const MakeSyntheticOptions& options) {
  assert(options.size >= 0 && options.height >= 1 && options.width >= 1);
  assert(options.classes >= 1 && options.classes <= 256);
  std::vector<std::vector<bool>> patterns;
  for (int64_t label = 0; label < options.classes; ++label) {
    patterns.push_back(MakePattern(options, label));
  }

  Dataset data;
  data.name = "synthetic";
  data.size = options.size;
  data.channels = 1;
  data.height = options.height;
  data.width = options.width;
  data.classes = options.classes;
  data.images.resize(data.size * data.image_bytes());
  data.labels.resize(data.size);
  uint8_t* pixel = data.images.data();
  for (int64_t i = 0; i < data.size; ++i) {
    Stream stream(options.seed, StreamPurpose::kSyntheticSample,
                  static_cast<uint64_t>(options.split), i);
    uint32_t label = stream.UniformU32Below(options.classes);
    int64_t dx = static_cast<int64_t>(stream.UniformU32Below(5)) - 2;
    int64_t dy = static_cast<int64_t>(stream.UniformU32Below(5)) - 2;
    data.labels[i] = static_cast<uint8_t>(label);
    uint32_t word = 0;
    int bytes_left = 0;
    for (int64_t y = 0; y < data.height; ++y) {
      for (int64_t x = 0; x < data.width; ++x) {
        if (bytes_left == 0) {
          word = stream.NextU32();
          bytes_left = 4;
        }
        uint32_t noise = word & 255;
        word >>= 8;
        --bytes_left;
        int64_t from_y = y - dy, from_x = x - dx;
        bool lit = from_y >= 0 && from_y < data.height && from_x >= 0 &&
                   from_x < data.width &&
                   patterns[label][from_y * data.width + from_x];
        *pixel++ = static_cast<uint8_t>((lit ? 96 : 0) + noise * 5 / 8);
      }
    }
  }
  return data;
}

}  // namespace reprise
