// How long a rename takes where tensors are linked, by how much they hold:
//
//   bazel run //format/migrate:migrate_benchmark -- FOLDER [PARAMETERS]
//   [ROUNDS]
//
// Makes checkpoints of 1 to 100 GiB in FOLDER whose shards are sparse files (no
// block of them is ever written), each parameter with two moments, and renames
// them all. Prints the median and the spread, and removes what it made.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/digest/chunk_digest.h"
#include "format/io/file_system.h"
#include "format/migrate/migrate_run.h"
#include "format/migrate/rename_rules.h"
#include "format/run_layout.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/items.h"
#include "format/v2/save.h"

namespace reprise {
namespace {

constexpr char kName[] = "step-000000000001";

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

// Zeros that are never read.
Tensor Zeros(const std::string& name, int64_t elements) {
  return Tensor::OnDevice(name, DType::kF32, {elements}, {},
                          [](uint64_t, size_t, char*) {
                            return absl::InternalError("nobody reads it");
                          });
}

Snapshot OfSize(uint64_t bytes, int parameters) {
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters.clear();
  const int64_t elements =
      static_cast<int64_t>(bytes / (3 * sizeof(float)) / parameters);
  OptimizerState& optimizer = snapshot.optimizer.emplace();
  optimizer.kind = "adamw";
  optimizer.arithmetic = "torch-single-tensor-v1";
  ParameterGroup& group = optimizer.groups.emplace_back();
  group.name = "all";
  group.lr = group.base_lr = 0.001;
  group.beta1 = 0.9;
  group.beta2 = 0.999;
  group.eps = 1e-8;
  for (int i = 0; i < parameters; ++i) {
    const std::string name = absl::StrCat("blocks.", i, ".weight");
    snapshot.parameters.push_back(Zeros(name, elements));
    group.parameters.push_back(name);
    optimizer.states.push_back(
        {name, 1, {Zeros("exp_avg", elements), Zeros("exp_avg_sq", elements)}});
  }
  for (Item item : {Item::OPTIM_KIND, Item::OPTIM_GROUPS, Item::OPTIM_IDENTITY,
                    Item::OPTIM_MOMENTS, Item::OPTIM_STEP, Item::SCHED_APPLIED,
                    Item::SCHED_BASE}) {
    snapshot.MarkSaved(item);
  }
  return snapshot;
}

// A checkpoint as a save would make it, whose shards have no blocks.
void MakeSparse(const std::string& run, const Snapshot& snapshot) {
  FileSystem* files = FileSystem::Real();
  const std::string folder = JoinPath(run, kName);
  OrExit(CreateFoldersDurably(files, folder));
  PlannedV2 plan = OrExit(PlanV2(snapshot, {}));
  for (const ShardInfo& shard : plan.shards) {
    auto file = OrExit(
        files->CreateExclusive(JoinPath(folder, ShardName(shard)), 0444));
    OrExit(file->Truncate(shard.size));
    OrExit(file->SyncData());
    OrExit(file->Close());
  }
  const std::string zeros(kDigestChunkBytes, '\0');
  const uint64_t whole = ChunkDigest(zeros.data(), zeros.size());
  std::vector<Chunks> chunks;
  for (const TableEntry& entry : plan.draft.tensors) {
    const uint64_t bytes = entry.num_bytes();
    Chunks& of_tensor = chunks.emplace_back(ChunkCount(bytes), whole);
    if (bytes % kDigestChunkBytes != 0) {
      of_tensor.back() = ChunkDigest(zeros.data(), bytes % kDigestChunkBytes);
    }
  }
  OrExit(FinishV2(files, folder, std::move(plan.draft), plan.shards, chunks)
             .status());
}

void Measure(const std::string& folder, uint64_t gib, int parameters,
             int rounds) {
  FileSystem* files = FileSystem::Real();
  const std::string run = JoinPath(folder, absl::StrCat("run-", gib));
  OrExit(RemoveRecursively(files, run));
  MakeSparse(run, OfSize(gib << 30, parameters));
  MigrateRunOptions options;
  options.out = run + ".renamed";
  options.checkpoint.rename = std::make_shared<const RenameRules>(
      OrExit(RenameRules::Parse("^blocks\\. -> model.layers.")));
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    OrExit(RemoveRecursively(files, options.out));
    const auto begin = std::chrono::steady_clock::now();
    const MigratedRun migrated = OrExit(MigrateRun(run, options));
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
    if (migrated.checkpoints[0].written.linked == 0) {
      OrExit(absl::InternalError("links are not possible in this folder"));
    }
  }
  OrExit(RemoveRecursively(files, options.out));
  OrExit(RemoveRecursively(files, run));
  std::sort(seconds.begin(), seconds.end());
  std::cout << absl::StrFormat("%4d GiB, %6d tensors: %.3f s (%.3f to %.3f)",
                               gib, 3 * parameters, seconds[seconds.size() / 2],
                               seconds.front(), seconds.back())
            << std::endl;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::cerr << "usage: migrate_benchmark FOLDER [PARAMETERS] [ROUNDS]\n";
    return 1;
  }
  const int parameters = argc > 2 ? std::atoi(argv[2]) : 1000;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 7;
  for (uint64_t gib : {1, 10, 100}) {
    reprise::Measure(argv[1], gib, parameters, rounds);
  }
  return 0;
}
