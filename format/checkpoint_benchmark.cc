// Saving and loading beside plain writing and reading of the same bytes:
//
//   bazel run //format:checkpoint_benchmark -- FOLDER [MIB] [ROUNDS] [THREADS]
//
// Everything that is compared alternates within one run, on one file system,
// and the medians' ratio is printed with the spread. FOLDER should be on the
// disk that is of interest.
#include <algorithm>
#include <chrono>
#include <cstdlib>
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
      Time("digest", [&] {
        RootDigest(bytes_.size(), ChunkDigests(bytes_, settings_.threads));
      });
      OrExit(RemoveRecursively(files_, Path("plain")));
      OrExit(RemoveRecursively(files_, Path("run")));
    }
    Report();
    OpenManyTensors();
  }

 private:
  // A manifest of 100,000 small tensors, decoded and checked.
  static void OpenManyTensors() {
    Snapshot snapshot = SmallestSnapshotV2();
    const std::string bytes(4, 'x');
    for (int i = 0; i < 100'000; ++i) {
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
    const double seconds =
        Seconds([&] { OrExit(DecodeV2(encoded->manifest).status()); });
    std::cout << absl::StrFormat(
        "100,000 tensors: manifest of %.1f MB opens in %.0f ms\n",
        static_cast<double>(encoded->manifest.size()) / 1e6, 1000 * seconds);
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
        "digest / save:      %.1f %% of its time\n",
        Median("plain write") / Median("save"),
        Median("plain read") / Median("load"),
        100 * Median("digest") / Median("save"));
  }

  const Settings settings_;
  FileSystem* const files_;
  std::string bytes_;
  Snapshot snapshot_;
  std::map<std::string, std::vector<double>> times_;
  bool counted_ = false;
};

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
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
