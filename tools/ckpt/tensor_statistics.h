// Numbers about one tensor, for people. Thread-safe.
#ifndef REPRISE_TOOLS_CKPT_TENSOR_STATISTICS_H_
#define REPRISE_TOOLS_CKPT_TENSOR_STATISTICS_H_

#include <cstddef>

#include "format/tensor.h"
#include "reprise/tools/ckpt/report.pb.h"

namespace reprise::ckpt {

// Everything but `tensor` of the message; the first `values` elements in
// row-major order. REQUIRES: `tensor` has data and is dense. Time: one pass.
TensorStatistics StatisticsOf(const Tensor& tensor, size_t values);

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_TENSOR_STATISTICS_H_
