#include "trainer/data/augment.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "format/random/philox.h"

namespace reprise {
namespace {

// Normalised value of each pixel value.
std::array<float, 256> MakeNormalised() {
  std::array<float, 256> table;
  for (int pixel = 0; pixel < 256; ++pixel) {
    table[pixel] = static_cast<float>((pixel / 255.0 - kPixelMean) / kPixelStd);
  }
  return table;
}

// One channel, [H, W] to [H, W].
void FillPlane(const uint8_t* in, int64_t height, int64_t width,
               const Shift2Flip& change, const std::array<float, 256>& table,
               float* out) {
  // Columns of the output that get a pixel of the input.
  int64_t begin = std::clamp<int64_t>(change.dx, 0, width);
  int64_t end = std::clamp<int64_t>(width + change.dx, begin, width);
  for (int64_t y = 0; y < height; ++y, out += width) {
    int64_t from_y = y - change.dy;
    if (from_y < 0 || from_y >= height) {
      std::fill(out, out + width, table[0]);
      continue;
    }
    const uint8_t* row = in + from_y * width;
    std::fill(out, out + begin, table[0]);
    if (change.mirror) {
      for (int64_t x = begin; x < end; ++x) {
        out[x] = table[row[width - 1 - (x - change.dx)]];
      }
    } else {
      for (int64_t x = begin; x < end; ++x) out[x] = table[row[x - change.dx]];
    }
    std::fill(out + end, out + width, table[0]);
  }
}

}  // namespace

Shift2Flip DrawShift2Flip(uint64_t seed, uint64_t epoch, uint64_t sample) {
  Stream stream(seed, StreamPurpose::kAugmentation, epoch, sample);
  Shift2Flip change;
  change.dx = static_cast<int>(stream.UniformU32Below(5)) - 2;
  change.dy = static_cast<int>(stream.UniformU32Below(5)) - 2;
  change.mirror = stream.UniformU32Below(2) == 1;
  return change;
}

void FillBatch(const Dataset& dataset, const std::vector<uint64_t>& ids,
               uint64_t epoch, uint64_t seed, Augment augment, float* images,
               int64_t* labels) {
  static const std::array<float, 256> table = MakeNormalised();
  int64_t plane = dataset.height * dataset.width;
  for (uint64_t id : ids) {
    assert(id < static_cast<uint64_t>(dataset.size));
    Shift2Flip change;
    if (augment == Augment::kShift2FlipV1) {
      change = DrawShift2Flip(seed, epoch, id);
    }
    for (int64_t channel = 0; channel < dataset.channels; ++channel) {
      FillPlane(dataset.image(id) + channel * plane, dataset.height,
                dataset.width, change, table, images);
      images += plane;
    }
    *labels++ = dataset.labels[id];
  }
}

}  // namespace reprise
