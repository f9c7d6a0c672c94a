#include "trainer/data/loader.h"

#include <signal.h>

#include <cassert>
#include <utility>

namespace reprise {

DataLoader::DataLoader(const Dataset* data, const Sampler& order,
                       Options options)
    : data_(data), options_(options), ahead_(order) {
  assert(options.workers >= 0 && options.prefetch >= 1);
  // Signals are the training thread's: a worker inherits that it gets none.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < options_.workers; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DataLoader::~DataLoader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  space_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<const HostBatch> DataLoader::Get(const Sampler& position) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t wanted = position.cursor();
  if (current_ != nullptr && current_->position.cursor() == wanted) {
    return current_->batch;
  }
  if (current_ != nullptr && current_->batch.use_count() == 1) {
    spare_.push_back(std::move(current_->batch));
  }
  current_.reset();
  if (threads_.empty()) {
    current_ = std::make_shared<Slot>(position);
    current_->batch = Memory();
    Fill(current_.get());
    return current_->batch;
  }
  const uint64_t next =
      queue_.empty() ? ahead_.cursor() : queue_.front()->position.cursor();
  if (next != wanted) {
    queue_.clear();
    ahead_ = position;
    space_.notify_all();
  }
  ready_.wait(lock,
              [this] { return !queue_.empty() && queue_.front()->ready; });
  current_ = std::move(queue_.front());
  queue_.pop_front();
  space_.notify_one();
  return current_->batch;
}

void DataLoader::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    space_.wait(lock, [this] {
      return stopping_ ||
             queue_.size() < static_cast<size_t>(options_.prefetch);
    });
    if (stopping_) return;
    const auto slot = std::make_shared<Slot>(ahead_);
    slot->batch = Memory();
    ahead_.Advance();
    queue_.push_back(slot);
    lock.unlock();
    Fill(slot.get());
    lock.lock();
    slot->ready = true;
    ready_.notify_one();
  }
}

void DataLoader::Fill(Slot* slot) const {
  FillHostBatch(*data_, slot->position.NextBatch(), options_.seed,
                options_.augment, slot->batch.get());
}

std::shared_ptr<HostBatch> DataLoader::Memory() {
  if (spare_.empty()) return std::make_shared<HostBatch>();
  std::shared_ptr<HostBatch> batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

}  // namespace reprise
