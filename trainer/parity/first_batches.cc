// Prints the batches that the trainer trains on first in
// continue_in_trainer_test, for tools/parity/fixtures.py: a line for each
// sample, its label and the bits of its 16 pixels.
#include <cstdio>
#include <cstring>

#include "trainer/data/augment.h"
#include "trainer/data/host_batch.h"
#include "trainer/data/sampler.h"
#include "trainer/data/synthetic.h"

int main() {
  constexpr int kBatches = 10;
  constexpr int64_t kPixels = 16;
  reprise::MakeSyntheticOptions options;
  options.size = 40;
  options.height = options.width = 4;
  const reprise::Dataset data = reprise::MakeSynthetic(options);
  auto sampler = reprise::Sampler::Create({40, /*batch_size=*/8, /*seed=*/3});
  if (!sampler.ok()) return 1;
  std::printf("# label, pixels of 10 batches of 8 images of 4 x 4\n");
  reprise::HostBatch batch;
  for (int i = 0; i < kBatches; ++i) {
    reprise::FillHostBatch(data, sampler->NextBatch(), /*seed=*/3,
                           reprise::Augment::kNone, &batch);
    for (size_t sample = 0; sample < batch.labels.size(); ++sample) {
      std::printf("%d", static_cast<int>(batch.labels[sample]));
      for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
        uint32_t bits;
        std::memcpy(&bits, &batch.images[sample * kPixels + pixel],
                    sizeof bits);
        std::printf(" %08x", bits);
      }
      std::printf("\n");
    }
    sampler->Advance();
  }
}
