#include "trainer/schedule/exact_math.h"

namespace reprise {
namespace {

constexpr double kPi = 3.141592653589793;

// The unevaluated sum of two doubles, |low| at most half a unit of high.
struct DoubleDouble {
  double high = 0;
  double low = 0;
};

// The halves of a's significand: a = high + low exactly (Veltkamp, 1968).
DoubleDouble Split(double a) {
  const double c = 134217729.0 * a;  // 2^27 + 1
  const double high = c - (c - a);
  return {high, a - high};
}

// a * b with twice a double's precision (Dekker, 1971).
DoubleDouble Multiply(const DoubleDouble& a, const DoubleDouble& b) {
  const double product = a.high * b.high;
  const DoubleDouble x = Split(a.high);
  const DoubleDouble y = Split(b.high);
  const double error =
      ((x.high * y.high - product) + x.high * y.low + x.low * y.high) +
      x.low * y.low;
  const double low = error + (a.high * b.low + a.low * b.high);
  const double sum = product + low;
  return {sum, low - (sum - product)};
}

}  // namespace

// The series is summed as 1 - z/(a b) (1 - z/(c d) (...)).
double CosPi(double t) {
  if (t > 0.5) return -CosPi(1.0 - t);
  double sum = 1.0;
  if (t > 0.25) {
    double x = kPi * (0.5 - t);  // the sine of the complement
    double z = x * x;
    for (int k = 8; k >= 1; --k) {
      sum = 1.0 - z / static_cast<double>((2 * k) * (2 * k + 1)) * sum;
    }
    return x * sum;
  }
  double x = kPi * t;
  double z = x * x;
  for (int k = 8; k >= 1; --k) {
    sum = 1.0 - z / static_cast<double>((2 * k - 1) * (2 * k)) * sum;
  }
  return sum;
}

double Power(double base, uint64_t exponent) {
  DoubleDouble result = {1.0, 0.0};
  DoubleDouble square = {base, 0.0};
  while (exponent != 0) {
    if (exponent & 1) result = Multiply(result, square);
    exponent >>= 1;
    if (exponent != 0) square = Multiply(square, square);
  }
  return result.high + result.low;
}

}  // namespace reprise
