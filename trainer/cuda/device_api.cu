#include <algorithm>

#include "trainer/cuda/device_api.h"
#include "trainer/cuda/warp_digest.h"

namespace {

using reprise::cuda::kSmallestDeviceChunk;
using reprise::cuda::WarpDigest;

constexpr uint64_t kChunk = uint64_t{1} << 16;
constexpr int kThreads = 128;
constexpr int kMaxBlocks = 4096;

struct DeviceWarp {
  using Value = uint64_t;
  template <typename F>
  __device__ static Value Make(F f) {
    return f(threadIdx.x % 32);
  }
  template <typename F>
  __device__ static Value Map(Value value, F f) {
    return f(threadIdx.x % 32, value);
  }
  __device__ static Value Add(Value a, Value b) { return a + b; }
  __device__ static Value ShuffleXor(Value value, int mask) {
    return __shfl_xor_sync(0xffffffff, value, mask);
  }
  __device__ static uint64_t At(Value value, int thread) {
    return __shfl_sync(0xffffffff, value, thread);
  }
};

// One warp a chunk.
__global__ void DigestChunks(const uint8_t* data, uint64_t size,
                             uint64_t chunks, uint64_t* out) {
  const uint64_t warps = uint64_t{gridDim.x} * (blockDim.x / 32);
  for (uint64_t chunk = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
       chunk < chunks; chunk += warps) {
    const uint64_t begin = chunk * kChunk;
    const uint64_t length = size - begin < kChunk ? size - begin : kChunk;
    const uint64_t digest = WarpDigest<DeviceWarp>(data + begin, length);
    if (threadIdx.x % 32 == 0) out[chunk] = digest;
  }
}

#define RETURN_IF_ERROR(call)                                 \
  do {                                                        \
    const cudaError_t error = (call);                         \
    if (error != cudaSuccess) return static_cast<int>(error); \
  } while (false)

}  // namespace

struct reprise_cuda_stager {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  void* host = nullptr;
  uint64_t capacity = 0;
};

extern "C" {

int reprise_cuda_api_version() { return REPRISE_CUDA_API_VERSION; }

const char* reprise_cuda_error(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

int reprise_cuda_digest(const void* data, uint64_t size, uint64_t* host_out,
                        uint64_t* done) {
  uint64_t chunks = size / kChunk;
  if (size % kChunk >= kSmallestDeviceChunk) ++chunks;
  *done = chunks;
  if (chunks == 0) return 0;
  uint64_t* out = nullptr;
  RETURN_IF_ERROR(cudaMalloc(&out, chunks * sizeof(uint64_t)));
  const uint64_t blocks = (chunks + kThreads / 32 - 1) / (kThreads / 32);
  DigestChunks<<<static_cast<int>(std::min<uint64_t>(blocks, kMaxBlocks)),
                 kThreads>>>(static_cast<const uint8_t*>(data), size, chunks,
                             out);
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) {
    error = cudaMemcpy(host_out, out, chunks * sizeof(uint64_t),
                       cudaMemcpyDeviceToHost);
  }
  const cudaError_t freed = cudaFree(out);
  return static_cast<int>(error == cudaSuccess ? freed : error);
}

int reprise_cuda_stager_create(reprise_cuda_stager** stager) {
  auto* made = new reprise_cuda_stager;
  cudaError_t error =
      cudaStreamCreateWithFlags(&made->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) {
    error = cudaEventCreateWithFlags(&made->event, cudaEventDisableTiming);
  }
  if (error != cudaSuccess) {
    reprise_cuda_stager_destroy(made);
    return static_cast<int>(error);
  }
  *stager = made;
  return 0;
}

int reprise_cuda_stager_reserve(reprise_cuda_stager* stager, uint64_t size,
                                void** host) {
  if (stager->capacity < size) {
    if (stager->host != nullptr) RETURN_IF_ERROR(cudaFreeHost(stager->host));
    stager->host = nullptr;
    stager->capacity = 0;
    RETURN_IF_ERROR(cudaHostAlloc(&stager->host, size, cudaHostAllocPortable));
    stager->capacity = size;
  }
  *host = stager->host;
  return 0;
}

int reprise_cuda_stager_begin(reprise_cuda_stager* stager,
                              void* compute_stream) {
  RETURN_IF_ERROR(cudaEventRecord(stager->event,
                                  static_cast<cudaStream_t>(compute_stream)));
  return static_cast<int>(
      cudaStreamWaitEvent(stager->stream, stager->event, 0));
}

int reprise_cuda_stager_copy(reprise_cuda_stager* stager,
                             const void* const* data, void* const* host,
                             const size_t* sizes, size_t count) {
  if (count == 0) return 0;
#if CUDART_VERSION >= 13000
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t first = 0;
  const cudaError_t error = cudaMemcpyBatchAsync(
      host, data, sizes, count, &attributes, &first, 1, stager->stream);
  // A driver that knows no batches refuses before it queues anything.
  if (error != cudaErrorNotSupported &&
      error != cudaErrorCallRequiresNewerDriver) {
    return static_cast<int>(error);
  }
#endif
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(cudaMemcpyAsync(host[i], data[i], sizes[i],
                                    cudaMemcpyDeviceToHost, stager->stream));
  }
  return 0;
}

int reprise_cuda_stager_fence(reprise_cuda_stager* stager,
                              void* compute_stream) {
  RETURN_IF_ERROR(cudaEventRecord(stager->event, stager->stream));
  return static_cast<int>(cudaStreamWaitEvent(
      static_cast<cudaStream_t>(compute_stream), stager->event, 0));
}

int reprise_cuda_stager_wait(reprise_cuda_stager* stager) {
  return static_cast<int>(cudaStreamSynchronize(stager->stream));
}

void reprise_cuda_stager_destroy(reprise_cuda_stager* stager) {
  if (stager == nullptr) return;
  // Nobody is left to tell; the process usually ends here.
  if (stager->host != nullptr) (void)cudaFreeHost(stager->host);
  if (stager->event != nullptr) (void)cudaEventDestroy(stager->event);
  if (stager->stream != nullptr) (void)cudaStreamDestroy(stager->stream);
  delete stager;
}

}  // extern "C"
