#include "conformance/fake/layers.h"

#include <algorithm>
#include <cmath>

#include "conformance/fake/arrays.h"
#include "conformance/fake/generator.h"

namespace reprise::conformance::fake {

Matrix Linear(const Matrix& x, const Array& weight, const Array* bias,
              const std::string& precision) {
  const int rows = static_cast<int>(weight.rows());
  const int columns = static_cast<int>(weight.columns());
  const int batch = static_cast<int>(x.size()) / columns;
  Array rounded = weight;
  RoundTo(precision, &rounded);
  const float* w = rounded.values().data();
  Matrix y(static_cast<size_t>(batch) * rows);
  for (int b = 0; b < batch; ++b) {
    for (int r = 0; r < rows; ++r) {
      float sum = bias == nullptr ? 0 : bias->values(r);
      for (int c = 0; c < columns; ++c) {
        sum += w[r * columns + c] * x[b * columns + c];
      }
      y[b * rows + r] = RoundTo(precision, sum);
    }
  }
  return y;
}

Matrix LinearBackward(const Matrix& x, const Array& weight, const Matrix& dy,
                      Array* weight_gradient, Array* bias_gradient) {
  const int rows = static_cast<int>(weight.rows());
  const int columns = static_cast<int>(weight.columns());
  const int batch = static_cast<int>(x.size()) / columns;
  const float* w = weight.values().data();
  float* dw = weight_gradient->mutable_values()->mutable_data();
  float* db = bias_gradient == nullptr
                  ? nullptr
                  : bias_gradient->mutable_values()->mutable_data();
  Matrix dx(x.size());
  for (int b = 0; b < batch; ++b) {
    for (int r = 0; r < rows; ++r) {
      const float d = dy[b * rows + r];
      if (db != nullptr) db[r] += d;
      for (int c = 0; c < columns; ++c) {
        dw[r * columns + c] += d * x[b * columns + c];
        dx[b * columns + c] += d * w[r * columns + c];
      }
    }
  }
  return dx;
}

void Dropout(float p, GeneratorState* generator, Matrix* x, Matrix* mask) {
  mask->resize(x->size());
  for (size_t i = 0; i < x->size(); ++i) {
    (*mask)[i] = Draw(generator) < p ? 0.0f : 1.0f / (1.0f - p);
    (*x)[i] *= (*mask)[i];
  }
}

double CrossEntropy(const Matrix& logits, const std::vector<int>& labels,
                    Matrix* dlogits) {
  const int batch = static_cast<int>(labels.size());
  const int classes = static_cast<int>(logits.size()) / batch;
  dlogits->resize(logits.size());
  double total = 0;
  for (int b = 0; b < batch; ++b) {
    const float* row = &logits[static_cast<size_t>(b) * classes];
    const float largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += std::exp(double{row[c]} - largest);
    total += std::log(sum) + largest - row[labels[b]];
    for (int c = 0; c < classes; ++c) {
      const double p = std::exp(double{row[c]} - largest) / sum;
      (*dlogits)[b * classes + c] =
          static_cast<float>((p - (c == labels[b] ? 1 : 0)) / batch);
    }
  }
  return total / batch;
}

void AddRounded(const std::string& precision, const Array& from, Array* to) {
  float* sum = to->mutable_values()->mutable_data();
  for (int i = 0; i < from.values_size(); ++i) {
    sum[i] += RoundTo(precision, from.values(i));
  }
}

}  // namespace reprise::conformance::fake
