// Loads libreprise_cuda.so and speaks to it.
//
// Example:
//
//   auto library = reprise::cuda::CudaLibrary::Load();
//   if (!library.ok()) return library.status();  // no toolkit at build time
//   auto chunks = (*library)->Digest(tensor.data_ptr(), tensor.nbytes());
//   std::string root = reprise::RootDigest(tensor.nbytes(), *chunks);
//
// Errors: UNIMPLEMENTED where the library was not built or is of another
// version; INTERNAL naming CUDA's error. Thread-safe; a Stager is
// thread-compatible.
#ifndef REPRISE_TRAINER_CUDA_CUDA_LIBRARY_H_
#define REPRISE_TRAINER_CUDA_CUDA_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/cuda/device_api.h"

namespace reprise::cuda {

class CudaLibrary {
 public:
  // The one of this process. Looks beside the program and in its runfiles;
  // REPRISE_CUDA_LIBRARY names another file.
  static absl::StatusOr<const CudaLibrary*> Load();

  // Chunk digests (format/digest/chunk_digest.h) of `size` bytes in device
  // memory. Only a last chunk of fewer than 241 bytes leaves the device.
  absl::StatusOr<std::vector<uint64_t>> Digest(const void* device_data,
                                               uint64_t size) const;

  // One tensor to be copied.
  struct Copy {
    const void* device_data = nullptr;
    uint64_t size = 0;
  };

  // Copies to pinned memory behind the work of a stream. The bytes of copy i
  // are at host[i] from Wait() on, until the next Start or the end of the
  // stager.
  class Stager {
   public:
    ~Stager();
    Stager(const Stager&) = delete;
    Stager& operator=(const Stager&) = delete;

    // Queues the copies after what `compute_stream` has queued, and makes what
    // is queued there later wait for them: the caller may go on at once. When
    // it fails, no copy is under way any more.
    absl::Status Start(const std::vector<Copy>& copies, void* compute_stream,
                       std::vector<const char*>* host);
    absl::Status Wait();

   private:
    friend class CudaLibrary;
    Stager(const CudaLibrary* library, reprise_cuda_stager* stager)
        : library_(library), stager_(stager) {}

    const CudaLibrary* library_;
    reprise_cuda_stager* stager_;
  };
  absl::StatusOr<std::unique_ptr<Stager>> MakeStager() const;

 private:
  CudaLibrary() = default;
  static absl::StatusOr<const CudaLibrary*> LoadOnce();
  absl::Status Check(int error, const char* what) const;

  decltype(&reprise_cuda_error) error_ = nullptr;
  decltype(&reprise_cuda_digest) digest_ = nullptr;
  decltype(&reprise_cuda_stager_create) create_ = nullptr;
  decltype(&reprise_cuda_stager_reserve) reserve_ = nullptr;
  decltype(&reprise_cuda_stager_begin) begin_ = nullptr;
  decltype(&reprise_cuda_stager_copy) copy_ = nullptr;
  decltype(&reprise_cuda_stager_fence) fence_ = nullptr;
  decltype(&reprise_cuda_stager_wait) wait_ = nullptr;
  decltype(&reprise_cuda_stager_destroy) destroy_ = nullptr;
};

}  // namespace reprise::cuda

#endif  // REPRISE_TRAINER_CUDA_CUDA_LIBRARY_H_
