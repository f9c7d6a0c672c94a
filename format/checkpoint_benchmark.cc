// Saving and loading beside plain writing and reading of the same bytes:
//
//   bazel run //format:checkpoint_benchmark -- --folder=DISK [--mib=512]
//       [--threads=2] [--benchmark_repetitions=N] [--benchmark_filter=save]
//       [--benchmark_out=F --benchmark_out_format=json] ...
//
// DISK should be on the disk that is of interest. The disk of a shared machine
// is another one a second later, so a repetition of what is compared is one
// pair, ours and the other, the one or the other first in turn, and the
// counters are of that pair; the library makes medians and spread of them. The
// time is ours, by the wall clock; of "open", of the CPU.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/digest/chunk_digest.h"
#include "format/io/file_system.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/codec.h"
#include "format/v2/save.h"
#include "format/v2/shard_writer.h"

ABSL_FLAG(std::string, folder, "", "an existing folder on the disk to measure");
ABSL_FLAG(int, mib, 512, "MiB of tensors, at least 16");
ABSL_FLAG(int, threads, 2, "threads that write, read and digest");
ABSL_FLAG(
    std::string, only_load, "",
    "a checkpoint: loads it and prints by how many bytes the process grew");

namespace reprise {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 23;
constexpr char kRepetitions[] = "--benchmark_repetitions=9";

void OrExit(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

template <typename T>
T OrExit(absl::StatusOr<T> value) {
  OrExit(value.status());
  return *std::move(value);
}

struct Cost {
  double wall = 0;  // seconds
  double cpu = 0;   // seconds in this process, of all its threads
};

double CpuSeconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) / 1e9;
}

Cost CostOf(const std::function<void()>& work) {
  const double cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> wall =
      std::chrono::steady_clock::now() - begin;
  return {wall.count(), CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

// Nanoseconds of CPU that digests took since this was last set to 0.
std::atomic<int64_t> digest_nanoseconds{0};

void TimedDigests(const void* data, size_t size, uint64_t* out) {
  const double begin = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  DigestChunks(data, size, out);
  digest_nanoseconds +=
      static_cast<int64_t>(1e9 * (CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - begin));
}

void NoDigests(const void*, size_t, uint64_t*) {}

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

// What is written, read and compared.
class Work {
 public:
  Work(std::string folder, int mib, int threads)
      : folder_(std::move(folder)),
        threads_(threads),
        files_(FileSystem::Real()),
        bytes_(static_cast<size_t>(mib) << 20, '\0') {
    for (size_t i = 0; i < bytes_.size(); i += 8) {
      const uint64_t value = i * 0x9e3779b97f4a7c15;
      std::memcpy(&bytes_[i], &value, sizeof(value));
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

  int threads() const { return threads_; }
  size_t bytes() const { return bytes_.size(); }
  // Of the checkpoint that Save(run) writes.
  std::string CheckpointPath(const std::string& run) const {
    return JoinPath(Path(run), "step-000000000001");
  }

  void Remove(const std::string& name) {
    OrExit(RemoveRecursively(files_, Path(name)));
  }

  // Same bytes, same threads, same size of writes, same syncs.
  void PlainWrite() {
    OrExit(files_->CreateFolder(Path("plain")));
    auto file = OrExit(files_->CreateExclusive(Path("plain/data"), 0444));
    ForPieces([&](uint64_t at, uint64_t size) {
      OrExit(WriteAll(file.get(), at, absl::string_view(&bytes_[at], size)));
    });
    OrExit(file->SyncData());
    OrExit(file->Close());
    OrExit(files_->SyncFolder(Path("plain")));
    OrExit(files_->SyncFolder(folder_));
  }

  void Save(const std::string& run) {
    OrExit(Opened(run)->Save(snapshot_).status());
  }

  // From the page cache, into fresh memory.
  void PlainRead() {
    auto file = OrExit(files_->OpenForReading(Path("plain/data")));
    std::unique_ptr<char, void (*)(void*)> memory(
        static_cast<char*>(std::malloc(bytes_.size())), std::free);
    ForPieces([&](uint64_t at, uint64_t size) {
      OrExit(ReadExactly(file.get(), at, memory.get() + at, size));
    });
  }

  void Load(const std::string& run) {
    OrExit(ReadCheckpoint(CheckpointPath(run), files_, threads_).status());
  }

  // Only what digests are a part of: the shards, written and synced.
  void WriteShardsOnly(const std::string& name,
                       void (*digest)(const void*, size_t, uint64_t*)) {
    SaveV2Options options;
    options.threads = threads_;
    const auto plan = OrExit(PlanV2(snapshot_, options));
    OrExit(files_->CreateFolder(Path(name)));
    OrExit(WriteShards(files_, Path(name), threads_, plan.tensors,
                       plan.draft.tensors, plan.shards, digest)
               .status());
    OrExit(files_->SyncFolder(Path(name)));
  }

  // Into memory that was used before, as a training loop would keep it.
  void BareCopy() {
    copy_.resize(bytes_.size());
    ForPieces([&](uint64_t at, uint64_t size) {
      std::memcpy(&copy_[at], &bytes_[at], size);
    });
  }

  // What a training loop waits for; FinishBehind does the rest.
  void BeginBehind() {
    if (behind_ == nullptr) behind_ = Opened("behind");
    Snapshot snapshot = snapshot_;
    snapshot.step += behind_steps_++;
    for (ItemRecord& record : snapshot.inventory) {
      record.as_of_step = snapshot.step;
    }
    OrExit(behind_->SaveAsync(snapshot, {}).status());
  }

  void FinishBehind() {
    OrExit(behind_->Wait());
    OrExit(behind_->Prune().status());
  }

 private:
  std::string Path(const std::string& name) const {
    return JoinPath(folder_, name);
  }

  std::unique_ptr<CheckpointStore> Opened(const std::string& run) {
    CheckpointStore::Options options;
    options.format_major = 2;
    options.threads = threads_;
    options.keep_last = 1;
    return OrExit(CheckpointStore::Open(Path(run), options));
  }

  // Begin and size of each, in turn by the threads.
  void ForPieces(const std::function<void(uint64_t, uint64_t)>& work) {
    auto share = [&](int thread) {
      for (uint64_t at = thread * kPieceBytes; at < bytes_.size();
           at += kPieceBytes * threads_) {
        work(at, std::min<uint64_t>(kPieceBytes, bytes_.size() - at));
      }
    };
    std::vector<std::thread> workers;
    for (int i = 0; i < threads_; ++i) workers.emplace_back(share, i);
    for (std::thread& worker : workers) worker.join();
  }

  const std::string folder_;
  const int threads_;
  FileSystem* const files_;
  std::string bytes_;
  Snapshot snapshot_;
  std::string copy_;
  std::unique_ptr<CheckpointStore> behind_;
  uint64_t behind_steps_ = 0;
};

// Two things that are compared, and what is not measured: `prepare` comes
// before the first pair, `settle` after each of ours, `clear` after each pair.
struct Pair {
  std::function<void()> ours, other;
  std::function<void(const Cost& ours, const Cost& other, benchmark::State&)>
      report;
  std::function<void()> prepare = [] {}, settle = [] {}, clear = [] {};
};

// Every repetition is one pair; the first is preceded by one that warms up.
void RegisterPair(const std::string& name, Pair pair) {
  auto run = [pair, pairs = std::make_shared<int>(0)](benchmark::State& state) {
    Cost ours, other;
    auto measure_ours = [&] {
      ours = CostOf(pair.ours);
      pair.settle();
    };
    auto measure = [&] {
      // Who comes first finds the disk in another state.
      const bool ours_first = (*pairs)++ % 2 == 0;
      if (ours_first) measure_ours();
      other = CostOf(pair.other);
      if (!ours_first) measure_ours();
      pair.clear();
    };
    if (*pairs == 0) {
      pair.prepare();
      measure();
    }
    for (auto _ : state) {
      measure();
      state.SetIterationTime(ours.wall);
    }
    state.counters["other_s"] = other.wall;
    pair.report(ours, other, state);
  };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->ComputeStatistics("min",
                          [](const std::vector<double>& values) {
                            return *std::min_element(values.begin(),
                                                     values.end());
                          })
      ->ComputeStatistics("max", [](const std::vector<double>& values) {
        return *std::max_element(values.begin(), values.end());
      });
}

// Our speed in that of the other.
void ReportSpeed(const Cost& ours, const Cost& other, benchmark::State& state) {
  state.counters["speed"] = other.wall / ours.wall;
}

void ReportRatio(const Cost& ours, const Cost& other, benchmark::State& state) {
  state.counters["ratio"] = ours.wall / other.wall;
}

void ReportDigests(const Cost& with, const Cost& without, const Work& work,
                   benchmark::State& state) {
  state.counters["wall_%"] = 100 * (with.wall - without.wall) / with.wall;
  state.counters["cpu_%"] = 100 * (with.cpu - without.cpu) / with.cpu;
  // What digests would take of the wall clock if none of them ran while a write
  // waits, and if a write did not gain by what they bring into the cache.
  const double digests = static_cast<double>(digest_nanoseconds) / 1e9;
  state.counters["at_most_%"] = 100 * digests / work.threads() / with.wall;
  state.counters["digest_GB/s"] =
      static_cast<double>(work.bytes()) / digests / 1e9;
}

// A manifest of many small tensors, decoded and checked.
void OpenManyTensors(benchmark::State& state) {
  Snapshot snapshot = SmallestSnapshotV2();
  for (int64_t i = 0; i < state.range(0); ++i) {
    const auto owner = std::make_shared<std::string>(4, 'x');
    snapshot.parameters.push_back(
        Tensor::Shared(absl::StrCat("layers.", i, ".weight"), DType::kF32, {1},
                       owner, owner->data()));
  }
  auto plan = OrExit(PlanV2(snapshot, {}));
  for (TableEntry& entry : plan.draft.tensors) entry.root.assign(16, 'r');
  const auto encoded = OrExit(EncodeV2(plan.draft, plan.shards));
  for (auto _ : state) OrExit(DecodeV2(encoded.manifest).status());
  state.counters["manifest_MB"] =
      static_cast<double>(encoded.manifest.size()) / 1e6;
}

// Of a process that does nothing but load.
void LoadInAFreshProcess(Work* work, benchmark::State& state) {
  work->Save("grow");
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  for (auto _ : state) {
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const std::string path =
          absl::StrCat("--only_load=", work->CheckpointPath("grow"));
      const std::string threads = absl::StrCat("--threads=", work->threads());
      execl("/proc/self/exe", "checkpoint_benchmark", path.c_str(),
            threads.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    char text[32] = {};
    if (status != 0 || read(ends[0], text, sizeof(text) - 1) <= 0) {
      state.SkipWithError("the process that loads failed");
      break;
    }
    state.counters["peak_memory"] =
        std::atof(text) / static_cast<double>(work->bytes());
  }
  close(ends[0]);
  close(ends[1]);
  work->Remove("grow");
}

void RegisterAll(Work* work) {
  Pair save{[=] { work->Save("run"); }, [=] { work->PlainWrite(); },
            &ReportSpeed};
  save.clear = [=] {
    work->Remove("plain");
    work->Remove("run");
  };
  RegisterPair("save", save);
  Pair digests{
      [=] {
        digest_nanoseconds = 0;
        work->WriteShardsOnly("with", &TimedDigests);
      },
      [=] { work->WriteShardsOnly("without", &NoDigests); },
      [=](const Cost& with, const Cost& without, benchmark::State& state) {
        ReportDigests(with, without, *work, state);
      }};
  digests.clear = [=] {
    work->Remove("with");
    work->Remove("without");
  };
  RegisterPair("digests", digests);
  Pair stall{[=] { work->BeginBehind(); }, [=] { work->BareCopy(); },
             &ReportRatio};
  stall.settle = [=] { work->FinishBehind(); };
  RegisterPair("stall", stall);
  Pair load{[=] { work->Load("load"); }, [=] { work->PlainRead(); },
            &ReportSpeed};
  load.prepare = [=] {
    work->PlainWrite();
    work->Save("load");
  };
  RegisterPair("load", load);
  benchmark::RegisterBenchmark("open", &OpenManyTensors)
      ->Arg(10'000)
      ->Arg(100'000)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(
      "load_in_a_fresh_process",
      [work](benchmark::State& state) { LoadInAFreshProcess(work, state); })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

int OnlyLoad(const std::string& path, int threads) {
  const uint64_t before = PeakBytes();
  const auto loaded = ReadCheckpoint(path, FileSystem::Real(), threads);
  OrExit(loaded.status());
  std::cout << PeakBytes() - before << std::flush;
  return 0;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  // First, so that one of the command line is the one that counts.
  std::string repetitions = reprise::kRepetitions;
  arguments.insert(arguments.begin() + 1, repetitions.data());
  arguments.push_back(nullptr);
  int count = argc + 1;
  benchmark::Initialize(&count, arguments.data());
  absl::ParseCommandLine(count, arguments.data());
  const int threads = absl::GetFlag(FLAGS_threads);
  const int mib = absl::GetFlag(FLAGS_mib);
  if (threads < 1 || mib < 16) {
    std::cerr << "expected --mib >= 16 and --threads >= 1\n";
    return 1;
  }
  const std::string checkpoint = absl::GetFlag(FLAGS_only_load);
  if (!checkpoint.empty()) return reprise::OnlyLoad(checkpoint, threads);
  std::string folder = reprise::JoinPath(absl::GetFlag(FLAGS_folder),
                                         "checkpoint_benchmark.XXXXXX");
  if (absl::GetFlag(FLAGS_folder).empty() ||
      mkdtemp(folder.data()) == nullptr) {
    std::cerr << "expected --folder=FOLDER that can be written to\n";
    return 1;
  }
  benchmark::AddCustomContext("MiB", absl::StrCat(mib));
  benchmark::AddCustomContext("threads", absl::StrCat(threads));
  {
    reprise::Work work(folder, mib, threads);
    reprise::RegisterAll(&work);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::ClearRegisteredBenchmarks();
  }
  reprise::OrExit(
      reprise::RemoveRecursively(reprise::FileSystem::Real(), folder));
  benchmark::Shutdown();
  return 0;
}
