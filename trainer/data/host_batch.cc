#include "trainer/data/host_batch.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reprise {
namespace {

void FillText(const Dataset& data, HostBatch* batch) {
  const int64_t length = data.sequence_length;
  batch->tokens.resize(batch->order.sample_ids.size() * length);
  batch->labels.resize(batch->tokens.size());
  int64_t* token = batch->tokens.data();
  int64_t* label = batch->labels.data();
  for (uint64_t id : batch->order.sample_ids) {
    assert(id < static_cast<uint64_t>(data.size));
    const uint8_t* window = data.window(id);
    token = std::copy(window, window + length, token);
    label = std::copy(window + 1, window + 1 + length, label);
  }
}

}  // namespace

void FillHostBatch(const Dataset& data, Batch order, uint64_t seed,
                   Augment augment, HostBatch* batch) {
  batch->order = std::move(order);
  batch->images.clear();
  batch->tokens.clear();
  if (data.is_text()) {
    assert(augment == Augment::kNone);
    FillText(data, batch);
    return;
  }
  const std::vector<uint64_t>& ids = batch->order.sample_ids;
  batch->images.resize(ids.size() * data.image_bytes());
  batch->labels.resize(ids.size());
  // A batch that spans two epochs is augmented by both.
  const uint64_t first = std::min<uint64_t>(batch->order.in_epoch, ids.size());
  FillBatch(data, {ids.begin(), ids.begin() + first}, batch->order.epoch, seed,
            augment, batch->images.data(), batch->labels.data());
  FillBatch(data, {ids.begin() + first, ids.end()}, batch->order.epoch + 1,
            seed, augment, batch->images.data() + first * data.image_bytes(),
            batch->labels.data() + first);
}

}  // namespace reprise
