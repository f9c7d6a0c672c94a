// The C functions of libreprise_cuda.so: what LibTorch cannot do by itself on a
// GPU. The library is loaded by cuda_library.h, so that the programs link and
// run where there is neither a toolkit nor a driver.
//
// Every function returns 0, or a cudaError_t. Streams and events are
// cudaStream_t and cudaEvent_t. Pointers are the device's unless they are
// called host. The current device is used.
#ifndef REPRISE_TRAINER_CUDA_DEVICE_API_H_
#define REPRISE_TRAINER_CUDA_DEVICE_API_H_

#include <stddef.h>
#include <stdint.h>

extern "C" {

// Raised with every change of these functions.
#define REPRISE_CUDA_API_VERSION 2
int reprise_cuda_api_version();

// A text for an error; lives for ever.
const char* reprise_cuda_error(int error);

// Digests of the chunks (64 KiB) of `size` bytes, to `host_out`, which has room
// for one u64 a chunk. Waits until they are there. A last chunk of fewer than
// 241 bytes is left out: *done counts the chunks that were digested.
int reprise_cuda_digest(const void* data, uint64_t size, uint64_t* host_out,
                        uint64_t* done);

// A stager copies tensors to pinned host memory on a stream of its own, after
// everything that was queued on `compute_stream` (null: the default stream)
// before.
struct reprise_cuda_stager;
int reprise_cuda_stager_create(reprise_cuda_stager** stager);
// The pinned buffer, at least `size` bytes; what an earlier call gave is gone
// when it has to grow. No copy may be under way.
int reprise_cuda_stager_reserve(reprise_cuda_stager* stager, uint64_t size,
                                void** host);
// Begins: the copies that follow wait for the work queued so far.
int reprise_cuda_stager_begin(reprise_cuda_stager* stager,
                              void* compute_stream);
// Queues `count` copies: sizes[i] bytes (at least 1) from data[i] to host[i],
// inside the pinned buffer. In one call of the driver, so that thousands of
// small tensors cost the caller no thousand calls. The arrays may go
// afterwards.
int reprise_cuda_stager_copy(reprise_cuda_stager* stager,
                             const void* const* data, void* const* host,
                             const size_t* sizes, size_t count);
// Makes later work on `compute_stream` wait for the copies, so that the
// tensors may be written again there, without stopping this thread.
int reprise_cuda_stager_fence(reprise_cuda_stager* stager,
                              void* compute_stream);
// Waits until every copy is in host memory.
int reprise_cuda_stager_wait(reprise_cuda_stager* stager);
void reprise_cuda_stager_destroy(reprise_cuda_stager* stager);

}  // extern "C"

#endif  // REPRISE_TRAINER_CUDA_DEVICE_API_H_
