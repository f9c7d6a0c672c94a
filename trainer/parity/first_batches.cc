// Prints the batches that the trainer trains on first in
// continue_in_trainer_test, for tools/parity: a line for each sample, its label
// and the bits of its 16 pixels; with the argument "text" the 17 bytes of its
// window.
#include <cstdio>
#include <cstring>
#include <string>

#include "trainer/data/augment.h"
#include "trainer/data/host_batch.h"
#include "trainer/data/sampler.h"
#include "trainer/data/synthetic.h"
#include "trainer/data/text.h"

namespace {

constexpr int kBatches = 10;
constexpr int64_t kPixels = 16;
constexpr int64_t kBytes = 16;

void PrintImages(const reprise::HostBatch& batch) {
  for (size_t sample = 0; sample < batch.labels.size(); ++sample) {
    std::printf("%d", static_cast<int>(batch.labels[sample]));
    for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
      uint32_t bits;
      std::memcpy(&bits, &batch.images[sample * kPixels + pixel], sizeof bits);
      std::printf(" %08x", bits);
    }
    std::printf("\n");
  }
}

// The tokens, then the label of the last.
void PrintTexts(const reprise::HostBatch& batch) {
  for (size_t first = 0; first < batch.tokens.size(); first += kBytes) {
    for (int64_t i = 0; i < kBytes; ++i) {
      std::printf("%02x", static_cast<unsigned>(batch.tokens[first + i]));
    }
    std::printf("%02x\n",
                static_cast<unsigned>(batch.labels[first + kBytes - 1]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool text = argc > 1 && std::string(argv[1]) == "text";
  reprise::Dataset data;
  if (text) {
    auto loaded = reprise::LoadText("", reprise::Split::kTrain, kBytes, 40);
    if (!loaded.ok()) return 1;
    data = *std::move(loaded);
  } else {
    reprise::MakeSyntheticOptions options;
    options.size = 40;
    options.height = options.width = 4;
    data = reprise::MakeSynthetic(options);
  }
  auto sampler = reprise::Sampler::Create({40, /*batch_size=*/8, /*seed=*/3});
  if (!sampler.ok()) return 1;
  std::printf(text ? "# 10 batches of 8 windows of 17 bytes\n"
                   : "# label, pixels of 10 batches of 8 images of 4 x 4\n");
  reprise::HostBatch batch;
  for (int i = 0; i < kBatches; ++i) {
    reprise::FillHostBatch(data, sampler->NextBatch(), /*seed=*/3,
                           reprise::Augment::kNone, &batch);
    text ? PrintTexts(batch) : PrintImages(batch);
    sampler->Advance();
  }
}
