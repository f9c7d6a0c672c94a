// Proves that nvcc, its host compiler and the static runtime work together.
// Compiled and linked by the ordinary build wherever nvcc is; run nowhere.
#include <cstdint>

__global__ void Add(const float* a, const float* b, float* sum, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

extern "C" int reprise_toolkit_probe(const float* a, const float* b, float* sum,
                                     int64_t n) {
  Add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
  return static_cast<int>(cudaGetLastError());
}
