#include "trainer/model/loss.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>

namespace reprise {

at::Tensor MeanLoss(const at::Tensor& logits, const at::Tensor& labels) {
  return at::cross_entropy_loss(logits.flatten(0, -2), labels.flatten());
}

int64_t CountRight(const at::Tensor& logits, const at::Tensor& labels) {
  return at::eq(at::argmax(logits, -1), labels).sum().item<int64_t>();
}

}  // namespace reprise
