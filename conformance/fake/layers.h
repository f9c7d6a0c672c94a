// Layers that the fake trainer's models share. Row-major; precision is that of
// RoundTo. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_FAKE_LAYERS_H_
#define REPRISE_CONFORMANCE_FAKE_LAYERS_H_

#include <string>
#include <vector>

#include "conformance/fake/state.pb.h"

namespace reprise::conformance::fake {

using Matrix = std::vector<float>;  // B x columns

// x [B, columns] times weight^T [rows, columns], plus bias [rows] where there
// is one: [B, rows], rounded to `precision`.
Matrix Linear(const Matrix& x, const Array& weight, const Array* bias,
              const std::string& precision);
// Adds the gradients of weight and bias for `dy` [B, rows]; returns that of x.
Matrix LinearBackward(const Matrix& x, const Array& weight, const Matrix& dy,
                      Array* weight_gradient, Array* bias_gradient);

// Zero with probability p, else scaled by 1 / (1 - p). `mask` holds the factor.
void Dropout(float p, GeneratorState* generator, Matrix* x, Matrix* mask);

// Mean cross-entropy of logits [B, classes]; `dlogits` its gradient.
double CrossEntropy(const Matrix& logits, const std::vector<int>& labels,
                    Matrix* dlogits);

// Adds rounded `from` to `to`: gradients of one micro-step to the group's.
void AddRounded(const std::string& precision, const Array& from, Array* to);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_LAYERS_H_
