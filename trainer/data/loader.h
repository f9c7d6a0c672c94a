// DataLoader: prepares the batches that come next, in threads of its own.
//
//   reprise::DataLoader loader(&data, sampler, {/*workers=*/2,
//                                               /*prefetch=*/4, /*seed=*/1,
//                                               reprise::Augment::kNone});
//   while (...) {
//     std::shared_ptr<const reprise::HostBatch> batch = loader.Get(sampler);
//     ... train on it ...
//     sampler.Advance();   // the one thing that moves the position
//   }
//
// The loader has no position: it is asked for the batch of the sampler's
// cursor, which counts what was *trained*, and keeps the following ones ready
// as a cache. Nothing of it is saved, a resumed run draws again what was drawn
// ahead (loader.inflight is EMPTY), and workers and prefetch change no bit of
// any batch. When the sampler has been moved elsewhere (a restored checkpoint),
// the next Get drops what was prepared and starts there.
#ifndef REPRISE_TRAINER_DATA_LOADER_H_
#define REPRISE_TRAINER_DATA_LOADER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trainer/data/augment.h"
#include "trainer/data/dataset.h"
#include "trainer/data/host_batch.h"
#include "trainer/data/sampler.h"

namespace reprise {

// Get is for one thread at a time.
class DataLoader {
 public:
  struct Options {
    // Threads; 0: Get prepares its batch itself.
    int workers = 1;
    // Batches kept ready or in the making, >= 1. Memory: this many and two.
    int prefetch = 2;
    // Of the augmentation.
    uint64_t seed = 0;
    Augment augment = Augment::kNone;  // kNone for text
  };

  // Starts at the cursor of `order`. `data` outlives the loader.
  DataLoader(const Dataset* data, const Sampler& order, Options options);
  // Waits for the workers to finish the batches in their hands.
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  // The batch at the cursor of `position`, which has the options of the
  // constructor's sampler. The same object until another cursor is asked for;
  // its memory is used again then, unless somebody still holds it.
  std::shared_ptr<const HostBatch> Get(const Sampler& position);

 private:
  // A batch and where it lies.
  struct Slot {
    explicit Slot(const Sampler& at) : position(at) {}
    Sampler position;
    std::shared_ptr<HostBatch> batch;
    bool ready = false;
  };

  void Work();
  void Fill(Slot* slot) const;
  // Memory for a batch.
  std::shared_ptr<HostBatch> Memory();

  const Dataset* const data_;
  const Options options_;

  std::mutex mutex_;
  // Everything below is guarded by mutex_, but for the batch of a slot that is
  // not ready, which belongs to its worker.
  std::condition_variable ready_;  // a slot has become ready
  std::condition_variable space_;  // there is something to prepare
  bool stopping_ = false;
  // In the order of their cursors. A slot that was dropped while a worker fills
  // it lives until the worker lets go of it.
  std::deque<std::shared_ptr<Slot>> queue_;
  Sampler ahead_;  // the position after the queue's last
  std::shared_ptr<Slot> current_;
  // Batches that were got and given back, for their memory.
  std::vector<std::shared_ptr<HostBatch>> spare_;

  std::vector<std::thread> threads_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_LOADER_H_
