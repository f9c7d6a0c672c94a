#include "trainer/cuda/testing/queued_device.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "trainer/cuda/device_api.h"

namespace {

constexpr int kError = 700;

struct Queue;

// An event, as it was recorded: everything queued on `queue` up to `position`.
struct Recorded {
  std::shared_ptr<Queue> queue;  // outlives its stager, as a stream does
  uint64_t position = 0;
};

// Work in its order; a wait for an event is work too.
struct Queue : std::enable_shared_from_this<Queue> {
  std::deque<std::function<void()>> work;
  uint64_t queued = 0;
  uint64_t done = 0;

  void Add(std::function<void()> item) {
    work.push_back(std::move(item));
    ++queued;
  }
  void RunUntil(uint64_t position) {
    while (done < position) {
      const std::function<void()> item = std::move(work.front());
      work.pop_front();
      item();
      ++done;
    }
  }
  Recorded Record() { return {shared_from_this(), queued}; }
  void WaitFor(const Recorded& event) {
    Add([event] { event.queue->RunUntil(event.position); });
  }
};

class Device : public reprise::cuda::QueuedDevice {
 public:
  void Compute(std::function<void()> work) override {
    const Lock lock(mutex);
    compute->Add(std::move(work));
  }
  void RunCompute() override {
    const Lock lock(mutex);
    compute->RunUntil(compute->queued);
  }
  void Fail(std::string name) override {
    const Lock lock(mutex);
    failing_.insert(std::move(name));
  }
  void BeforeWait(std::function<void()> held) override {
    const Lock lock(mutex);
    before_wait_ = std::move(held);
  }
  std::vector<std::string> TakeCalls() override {
    const Lock lock(mutex);
    return std::exchange(calls_, {});
  }
  int CopiesUnderWay() const override {
    const Lock lock(mutex);
    return copies;
  }

  // The rest is used with `mutex` held; work that runs may come back.
  using Lock = std::lock_guard<std::recursive_mutex>;
  mutable std::recursive_mutex mutex;

  // Whether the call goes on.
  bool Called(const std::string& name) {
    calls_.push_back(name);
    return failing_.erase(name) == 0;
  }
  std::function<void()> TakeBeforeWait() {
    return std::exchange(before_wait_, nullptr);
  }

  const std::shared_ptr<Queue> compute = std::make_shared<Queue>();
  int copies = 0;

 private:
  std::set<std::string> failing_;
  std::function<void()> before_wait_;
  std::vector<std::string> calls_;
};

Device& TheDevice() {
  static auto* device = new Device;
  return *device;
}

}  // namespace

struct reprise_cuda_stager {
  const std::shared_ptr<Queue> side = std::make_shared<Queue>();
  std::vector<char> host;
};

extern "C" {

reprise::cuda::QueuedDevice* reprise_queued_device() { return &TheDevice(); }

int reprise_cuda_api_version() { return REPRISE_CUDA_API_VERSION; }

const char* reprise_cuda_error(int error) {
  return error == kError ? "an illegal memory access was encountered"
                         : "no error";
}

int reprise_cuda_digest(const void*, uint64_t, uint64_t*, uint64_t* done) {
  *done = 0;
  return 0;
}

int reprise_cuda_stager_create(reprise_cuda_stager** stager) {
  *stager = new reprise_cuda_stager;
  return 0;
}

int reprise_cuda_stager_reserve(reprise_cuda_stager* stager, uint64_t size,
                                void** host) {
  const Device::Lock lock(TheDevice().mutex);
  if (!TheDevice().Called("reserve")) return kError;
  if (stager->host.size() < size) stager->host.resize(size);
  *host = stager->host.data();
  return 0;
}

int reprise_cuda_stager_begin(reprise_cuda_stager* stager, void*) {
  const Device::Lock lock(TheDevice().mutex);
  if (!TheDevice().Called("begin")) return kError;
  stager->side->WaitFor(TheDevice().compute->Record());
  return 0;
}

int reprise_cuda_stager_copy(reprise_cuda_stager* stager,
                             const void* const* data, void* const* host,
                             const size_t* sizes, size_t count) {
  const Device::Lock lock(TheDevice().mutex);
  const bool goes_on = TheDevice().Called("copy");
  // As a real one may: a part is queued already.
  if (!goes_on && count > 1) count = 1;
  for (size_t i = 0; i < count; ++i) {
    ++TheDevice().copies;
    stager->side->Add([to = host[i], from = data[i], size = sizes[i]] {
      std::memcpy(to, from, size);
      --TheDevice().copies;
    });
  }
  return goes_on ? 0 : kError;
}

int reprise_cuda_stager_fence(reprise_cuda_stager* stager, void*) {
  const Device::Lock lock(TheDevice().mutex);
  if (!TheDevice().Called("fence")) return kError;
  TheDevice().compute->WaitFor(stager->side->Record());
  return 0;
}

int reprise_cuda_stager_wait(reprise_cuda_stager* stager) {
  std::function<void()> held;
  {
    const Device::Lock lock(TheDevice().mutex);
    held = TheDevice().TakeBeforeWait();
  }
  if (held) held();
  const Device::Lock lock(TheDevice().mutex);
  const bool goes_on = TheDevice().Called("wait");
  stager->side->RunUntil(stager->side->queued);
  return goes_on ? 0 : kError;
}

void reprise_cuda_stager_destroy(reprise_cuda_stager* stager) { delete stager; }

}  // extern "C"
