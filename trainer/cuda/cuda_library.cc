#include "trainer/cuda/cuda_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/digest/chunk_digest.h"

namespace reprise::cuda {
namespace {

constexpr char kName[] = "libreprise_cuda.so";
// Copies begin at multiples of it, which DMA likes.
constexpr uint64_t kAlignment = 256;

// Folder of this program, and where Bazel lays its data.
std::vector<std::string> Candidates() {
  if (const char* named = getenv("REPRISE_CUDA_LIBRARY"); named != nullptr) {
    return {named};
  }
  std::vector<std::string> paths;
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program));
  if (size > 0) {
    const std::string path(program, size);
    const std::string folder = path.substr(0, path.rfind('/'));
    paths.push_back(absl::StrCat(folder, "/", kName));
    paths.push_back(
        absl::StrCat(path, ".runfiles/reprise/trainer/cuda/", kName));
    paths.push_back(absl::StrCat(folder, "/cuda/", kName));
  }
  // The working folder of a test.
  paths.push_back(absl::StrCat("trainer/cuda/", kName));
  return paths;
}

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

absl::StatusOr<const CudaLibrary*> CudaLibrary::Load() {
  static const auto* loaded =
      new absl::StatusOr<const CudaLibrary*>(LoadOnce());
  return *loaded;
}

absl::StatusOr<const CudaLibrary*> CudaLibrary::LoadOnce() {
  std::vector<std::string> failures;
  void* handle = nullptr;
  for (const std::string& path : Candidates()) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
    failures.push_back(dlerror());
  }
  if (handle == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        kName, " could not be loaded: ", absl::StrJoin(failures, "; "),
        ". It is built where the CUDA toolkit's nvcc is found; "
        "REPRISE_CUDA_LIBRARY names a copy built elsewhere"));
  }
  decltype(&reprise_cuda_api_version) version = nullptr;
  auto library = std::unique_ptr<CudaLibrary>(new CudaLibrary);
  const bool complete =
      Find(handle, "reprise_cuda_api_version", &version) &&
      Find(handle, "reprise_cuda_error", &library->error_) &&
      Find(handle, "reprise_cuda_digest", &library->digest_) &&
      Find(handle, "reprise_cuda_stager_create", &library->create_) &&
      Find(handle, "reprise_cuda_stager_reserve", &library->reserve_) &&
      Find(handle, "reprise_cuda_stager_begin", &library->begin_) &&
      Find(handle, "reprise_cuda_stager_copy", &library->copy_) &&
      Find(handle, "reprise_cuda_stager_fence", &library->fence_) &&
      Find(handle, "reprise_cuda_stager_wait", &library->wait_) &&
      Find(handle, "reprise_cuda_stager_destroy", &library->destroy_);
  if (!complete || version() != REPRISE_CUDA_API_VERSION) {
    return absl::UnimplementedError(
        absl::StrCat(kName, ": expected version ", REPRISE_CUDA_API_VERSION,
                     " of its functions, found ",
                     version == nullptr ? std::string("none of them")
                                        : absl::StrCat(version()),
                     "; build it and the program from the same commit"));
  }
  return library.release();
}

absl::Status CudaLibrary::Check(int error, const char* what) const {
  if (error == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, ": CUDA error ", error, ": ", error_(error)));
}

absl::StatusOr<std::vector<uint64_t>> CudaLibrary::Digest(
    const void* device_data, uint64_t size) const {
  std::vector<uint64_t> chunks(ChunkCount(size));
  uint64_t done = 0;
  absl::Status status =
      Check(digest_(device_data, size, chunks.data(), &done), "digest");
  if (!status.ok()) return status;
  if (done == chunks.size()) return chunks;
  const uint64_t begin = done * kDigestChunkBytes;
  absl::StatusOr<std::unique_ptr<Stager>> stager = MakeStager();
  if (!stager.ok()) return stager.status();
  std::vector<const char*> host;
  status = (*stager)->Start(
      {{static_cast<const char*>(device_data) + begin, size - begin}},
      /*compute_stream=*/nullptr, &host);
  if (status.ok()) status = (*stager)->Wait();
  if (!status.ok()) return status;
  chunks.back() = ChunkDigest(host[0], size - begin);
  return chunks;
}

absl::StatusOr<std::unique_ptr<CudaLibrary::Stager>> CudaLibrary::MakeStager()
    const {
  reprise_cuda_stager* stager = nullptr;
  absl::Status status = Check(create_(&stager), "staging");
  if (!status.ok()) return status;
  return std::unique_ptr<Stager>(new Stager(this, stager));
}

CudaLibrary::Stager::~Stager() { library_->destroy_(stager_); }

absl::Status CudaLibrary::Stager::Start(const std::vector<Copy>& copies,
                                        void* compute_stream,
                                        std::vector<const char*>* host) {
  uint64_t total = 0;
  std::vector<uint64_t> offsets;
  for (const Copy& copy : copies) {
    offsets.push_back(total);
    total += (copy.size + kAlignment - 1) / kAlignment * kAlignment;
  }
  void* buffer = nullptr;
  absl::Status status = library_->Check(
      library_->reserve_(stager_, total, &buffer), "pinned memory");
  if (!status.ok()) return status;
  host->clear();
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < copies.size(); ++i) {
    char* place = static_cast<char*>(buffer) + offsets[i];
    host->push_back(place);
    if (copies[i].size == 0) continue;
    from.push_back(copies[i].device_data);
    to.push_back(place);
    sizes.push_back(copies[i].size);
  }
  status =
      library_->Check(library_->begin_(stager_, compute_stream), "staging");
  if (status.ok()) {
    status = library_->Check(library_->copy_(stager_, from.data(), to.data(),
                                             sizes.data(), sizes.size()),
                             "copy to the host");
  }
  if (status.ok()) {
    status =
        library_->Check(library_->fence_(stager_, compute_stream), "staging");
  }
  // What was queued before the failure writes to memory that is used again, and
  // reads tensors that nothing holds back any more. The first cause counts.
  if (!status.ok()) status.Update(Wait());
  return status;
}

absl::Status CudaLibrary::Stager::Wait() {
  return library_->Check(library_->wait_(stager_), "copy to the host");
}

}  // namespace reprise::cuda
