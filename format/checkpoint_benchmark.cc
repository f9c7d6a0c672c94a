// Saving and loading beside plain writing and reading of the same bytes:
//
//   bazel run //format:checkpoint_benchmark -- FOLDER [MIB] [ROUNDS] [THREADS]
//
// Everything that is compared alternates within one run, on one file system,
// and the medians' ratio is printed with the spread: the disk of a shared
// machine is another one a second later. (That is why this is no Google
// Benchmark program: it repeats one thing and then the next, or shuffles them,
// and has no ratio of pairs.) FOLDER should be on the disk that is of interest.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/checkpoint_store.h"
#include "format/digest/chunk_digest.h"
#include "format/io/file_system.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/codec.h"
#include "format/v2/save.h"
#include "format/v2/shard_writer.h"

namespace reprise {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 23;

struct Settings {
  std::string folder;
  int64_t mib = 512;
  int rounds = 5;
  int threads = 2;
};

void OrExit(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

double Seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

void InThreads(int threads, const std::function<void(int)>& work) {
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work, i);
  for (std::thread& worker : workers) worker.join();
}

// Highest resident memory of this process so far.
uint64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kilobytes;
  }
  return kilobytes << 10;
}

int Load(const std::string& path, int threads, double tensor_bytes) {
  const uint64_t before = PeakBytes();
  auto loaded = ReadCheckpoint(path, FileSystem::Real(), threads);
  OrExit(loaded.status());
  std::cout << absl::StrFormat(
      "load: peak memory %.3f of the tensors' bytes, %.1f MiB before it\n",
      static_cast<double>(PeakBytes() - before) / tensor_bytes,
      static_cast<double>(before) / (1 << 20));
  return 0;
}

// Of this thread: on a busy machine the wall clock tells about the others.
double CpuSeconds(const std::function<void()>& work) {
  auto now = [] {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_nsec) / 1e9;
  };
  const double begin = now();
  work();
  return now() - begin;
}

class Benchmark {
 public:
  explicit Benchmark(Settings settings)
      : settings_(std::move(settings)), files_(FileSystem::Real()) {
    bytes_.resize(settings_.mib << 20);
    for (size_t i = 0; i < bytes_.size(); i += 8) {
      const uint64_t value = i * 0x9e3779b97f4a7c15;
      bytes_.replace(i, 8, reinterpret_cast<const char*>(&value), 8);
    }
    // Sixteen tensors, beside the small ones of every checkpoint.
    snapshot_ = SmallestSnapshotV2();
    const int64_t each = static_cast<int64_t>(bytes_.size()) / 16;
    for (int i = 0; i < 16; ++i) {
      snapshot_.parameters.push_back(Tensor::View(absl::StrCat("layer", i),
                                                  DType::kF32, {each / 4},
                                                  bytes_.data() + i * each));
    }
  }

  void Run() {
    for (int round = 0; round <= settings_.rounds; ++round) {
      counted_ = round > 0;  // the first warms up
      // Who comes first finds the disk in another state.
      const bool plain_first = round % 2 == 0;
      if (plain_first) Time("plain write", [&] { PlainWrite(); });
      Time("save", [&] { Save(); });
      if (!plain_first) Time("plain write", [&] { PlainWrite(); });
      if (plain_first) Time("plain read", [&] { PlainRead(); });
      Time("load", [&] { Load(); });
      if (!plain_first) Time("plain read", [&] { PlainRead(); });
      for (bool digests : {plain_first, !plain_first}) {
        Time(digests ? "shards" : "undigested",
             [&] { WriteShardsOnly(digests); });
        OrExit(RemoveRecursively(files_, Path("shards")));
      }
      for (bool copy : {plain_first, !plain_first}) {
        if (copy) {
          Time("bare copy", [&] { BareCopy(); });
        } else {
          SaveBehind();
        }
      }
      OrExit(RemoveRecursively(files_, Path("plain")));
      OrExit(RemoveRecursively(files_, Path("run")));
    }
    behind_ = nullptr;
    OrExit(RemoveRecursively(files_, Path("behind")));
    Report();
    for (int tensors : {10'000, 100'000}) OpenManyTensors(tensors);
    LoadInAFreshProcess();
  }

 private:
  // A manifest of many small tensors, decoded and checked.
  static void OpenManyTensors(int tensors) {
    Snapshot snapshot = SmallestSnapshotV2();
    const std::string bytes(4, 'x');
    for (int i = 0; i < tensors; ++i) {
      const auto owner = std::make_shared<std::string>(bytes);
      snapshot.parameters.push_back(
          Tensor::Shared(absl::StrCat("layers.", i, ".weight"), DType::kF32,
                         {1}, owner, owner->data()));
    }
    auto plan = PlanV2(snapshot, {});
    OrExit(plan.status());
    for (TableEntry& entry : plan->draft.tensors) entry.root.assign(16, 'r');
    auto encoded = EncodeV2(plan->draft, plan->shards);
    OrExit(encoded.status());
    std::vector<double> times;
    for (int i = 0; i < 5; ++i) {
      times.push_back(
          CpuSeconds([&] { OrExit(DecodeV2(encoded->manifest).status()); }));
    }
    std::sort(times.begin(), times.end());
    std::cout << absl::StrFormat(
        "%d tensors: manifest of %.1f MB opens in %.1f ms of CPU (%.1f - "
        "%.1f)\n",
        tensors, static_cast<double>(encoded->manifest.size()) / 1e6,
        1000 * times[2], 1000 * times.front(), 1000 * times.back());
  }

  // Memory of a process that does nothing but load.
  void LoadInAFreshProcess() {
    Save();
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) {
      const std::string threads = absl::StrCat(settings_.threads);
      const std::string bytes = absl::StrCat(bytes_.size());
      execl("/proc/self/exe", "checkpoint_benchmark", "--load",
            Path("run/step-000000000001").c_str(), threads.c_str(),
            bytes.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    OrExit(RemoveRecursively(files_, Path("run")));
  }

  // Only what digests are a part of: the shards, written and synced.
  void WriteShardsOnly(bool digests) {
    SaveV2Options options;
    options.threads = settings_.threads;
    auto plan = PlanV2(snapshot_, options);
    OrExit(plan.status());
    OrExit(files_->CreateFolder(Path("shards")));
    OrExit(WriteShards(files_, Path("shards"), settings_.threads, plan->tensors,
                       plan->draft.tensors, plan->shards,
                       digests ? &DigestChunks : &NoDigests)
               .status());
    OrExit(files_->SyncFolder(Path("shards")));
  }
  static void NoDigests(const void*, size_t, uint64_t*) {}

  // Into memory that was used before, as a training loop would keep it.
  void BareCopy() {
    copy_.resize(bytes_.size());
    InThreads(settings_.threads, [&](int thread) {
      const uint64_t step = kPieceBytes * settings_.threads;
      for (uint64_t at = thread * kPieceBytes; at < bytes_.size(); at += step) {
        std::memcpy(&copy_[at], &bytes_[at],
                    std::min<uint64_t>(kPieceBytes, bytes_.size() - at));
      }
    });
  }

  // The stall, then the rest.
  void SaveBehind() {
    if (behind_ == nullptr) {
      CheckpointStore::Options options;
      options.format_major = 2;
      options.threads = settings_.threads;
      options.keep_last = 1;
      auto store = CheckpointStore::Open(Path("behind"), options);
      OrExit(store.status());
      behind_ = *std::move(store);
    }
    Snapshot snapshot = snapshot_;
    snapshot.step += behind_steps_++;
    for (ItemRecord& record : snapshot.inventory) {
      record.as_of_step = snapshot.step;
    }
    Time("stall", [&] { OrExit(behind_->SaveAsync(snapshot, {}).status()); });
    OrExit(behind_->Wait());
    OrExit(behind_->Prune().status());
  }

  std::string Path(const std::string& name) {
    return JoinPath(settings_.folder, name);
  }

  void Time(const std::string& name, const std::function<void()>& work) {
    const double seconds = Seconds(work);
    if (counted_) times_[name].push_back(seconds);
  }

  // Same bytes, same threads, same size of writes, same syncs.
  void PlainWrite() {
    OrExit(files_->CreateFolder(Path("plain")));
    auto file = files_->CreateExclusive(Path("plain/data"), 0444);
    OrExit(file.status());
    InThreads(settings_.threads, [&](int thread) {
      const uint64_t step = kPieceBytes * settings_.threads;
      for (uint64_t at = thread * kPieceBytes; at < bytes_.size(); at += step) {
        OrExit(WriteAll(file->get(), at,
                        absl::string_view(bytes_).substr(at, kPieceBytes)));
      }
    });
    OrExit((*file)->SyncData());
    OrExit((*file)->Close());
    OrExit(files_->SyncFolder(Path("plain")));
    OrExit(files_->SyncFolder(settings_.folder));
  }

  void Save() {
    CheckpointStore::Options options;
    options.format_major = 2;
    options.threads = settings_.threads;
    auto store = CheckpointStore::Open(Path("run"), options);
    OrExit(store.status());
    OrExit((*store)->Save(snapshot_).status());
  }

  // From the page cache, into fresh memory.
  void PlainRead() {
    auto file = files_->OpenForReading(Path("plain/data"));
    OrExit(file.status());
    std::unique_ptr<char, void (*)(void*)> memory(
        static_cast<char*>(std::malloc(bytes_.size())), std::free);
    InThreads(settings_.threads, [&](int thread) {
      const uint64_t step = kPieceBytes * settings_.threads;
      for (uint64_t at = thread * kPieceBytes; at < bytes_.size(); at += step) {
        OrExit(
            ReadExactly(file->get(), at, memory.get() + at,
                        std::min<uint64_t>(kPieceBytes, bytes_.size() - at)));
      }
    });
  }

  void Load() {
    OrExit(
        ReadCheckpoint(Path("run/step-000000000001"), files_, settings_.threads)
            .status());
  }

  double Median(const std::string& name) {
    std::vector<double> times = times_[name];
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  // Of each round, whose disk was one.
  double MedianDifference(const std::string& a, const std::string& b) {
    std::vector<double> differences;
    for (size_t i = 0; i < times_[a].size(); ++i) {
      differences.push_back(times_[a][i] - times_[b][i]);
    }
    std::sort(differences.begin(), differences.end());
    return differences[differences.size() / 2];
  }

  void Report() {
    std::cout << settings_.mib << " MiB, " << settings_.threads
              << " threads, median of " << settings_.rounds << " (spread)\n";
    for (const auto& [name, times] : times_) {
      const auto [low, high] = std::minmax_element(times.begin(), times.end());
      const double median = Median(name);
      std::cout << absl::StrFormat(
          "%-12s %8.3f s (%.3f - %.3f)  %7.2f GB/s\n", name, median, *low,
          *high, static_cast<double>(bytes_.size()) / median / 1e9);
    }
    std::cout << absl::StrFormat(
        "save / plain write: %.2f of its speed\n"
        "load / plain read:  %.2f of its speed\n"
        "digests of a save:  %.1f %% of its time\n"
        "stall / bare copy:  %.2f\n",
        Median("plain write") / Median("save"),
        Median("plain read") / Median("load"),
        100 * MedianDifference("shards", "undigested") / Median("shards"),
        Median("stall") / Median("bare copy"));
  }

  const Settings settings_;
  FileSystem* const files_;
  std::string bytes_;
  Snapshot snapshot_;
  std::map<std::string, std::vector<double>> times_;
  bool counted_ = false;
  std::string copy_;
  std::unique_ptr<CheckpointStore> behind_;
  uint64_t behind_steps_ = 0;
};

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--load") {
    return reprise::Load(argv[2], std::atoi(argv[3]), std::atof(argv[4]));
  }
  if (argc < 2 || argc > 5) {
    std::cerr
        << "usage: checkpoint_benchmark FOLDER [MIB] [ROUNDS] [THREADS]\n";
    return 1;
  }
  reprise::Settings settings;
  settings.folder = argv[1];
  if (argc > 2) settings.mib = std::atoll(argv[2]);
  if (argc > 3) settings.rounds = std::atoi(argv[3]);
  if (argc > 4) settings.threads = std::atoi(argv[4]);
  if (settings.mib < 16 || settings.rounds < 1 || settings.threads < 1) {
    std::cerr << "expected MIB >= 16, ROUNDS >= 1, THREADS >= 1\n";
    return 1;
  }
  reprise::Benchmark(settings).Run();
  return 0;
}
