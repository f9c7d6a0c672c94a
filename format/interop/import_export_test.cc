// From Python's files to checkpoints and back.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "format/checkpoint_store.h"
#include "format/interop/export_snapshot.h"
#include "format/interop/import_snapshot.h"
#include "format/interop/testing/describe_values.h"
#include "format/interop/testing/temporary_file.h"
#include "format/inventory.h"
#include "format/refusal.h"
#include "format/testing/full_snapshot.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

absl::StatusOr<ImportedSnapshot> Import(const std::string& name,
                                        const ImportOptions& options = {}) {
  const auto file = ReadTorchFile(FileSystem::Real(), FixturePath(name));
  if (!file.ok()) return file.status();
  return ImportTorch(*file, options);
}

// Commits the snapshot as version 2 and reads it again.
Snapshot ThroughCheckpoint(Snapshot snapshot) {
  snapshot.run_id = std::string(32, 'a');
  snapshot.attempt = 1;
  snapshot.writer = "import_export_test";
  const std::string run = TempPath("run");
  (void)RemoveRecursively(FileSystem::Real(), run);
  CheckpointStore::Options options;
  options.format_major = 2;
  auto store = CheckpointStore::Open(run, options);
  EXPECT_TRUE(store.ok()) << store.status();
  const auto saved = (*store)->Save(snapshot);
  EXPECT_TRUE(saved.ok()) << saved.status();
  auto newest = (*store)->NewestVerified();
  if (!newest.ok() || !newest->checkpoint.has_value()) {
    ADD_FAILURE() << newest.status();
    return snapshot;
  }
  return newest->checkpoint->snapshot;
}

// Lines of a fixture or a document below `prefix`, sorted: order is no part of
// a dict's value.
std::vector<std::string> Below(const std::string& lines,
                               const std::string& prefix) {
  std::vector<std::string> below;
  for (absl::string_view line : absl::StrSplit(lines, '\n')) {
    if (absl::StartsWith(line, prefix)) below.emplace_back(line);
  }
  std::sort(below.begin(), below.end());
  return below;
}

Presence PresenceOf(const Snapshot& snapshot, Item item) {
  return snapshot.Find(item)->presence;
}

TEST(Import, TakesEveryPartOfATrainingDict) {
  auto imported = Import("seed_example.pt");
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
  EXPECT_EQ(snapshot.step, 5);
  EXPECT_EQ(snapshot.parameters.size(), 6);
  EXPECT_EQ(snapshot.buffers.size(), 3);
  EXPECT_EQ(snapshot.optimizer->kind, "adam");
  EXPECT_EQ(snapshot.optimizer->groups[0].parameters,
            (std::vector<std::string>{"conv.weight", "conv.bias", "norm.weight",
                                      "norm.bias", "fc.weight", "fc.bias"}));
  // One of five steps was skipped.
  EXPECT_EQ(snapshot.optimizer->states[0].step, 4);
  EXPECT_EQ(snapshot.optimizer->groups[0].base_lr, 1e-3);
  EXPECT_EQ(snapshot.schedule->position, 5);
  EXPECT_EQ(snapshot.scaler->scale, 512.0f);
  EXPECT_EQ(snapshot.scaler->growth_tracker, 2);
  EXPECT_EQ(snapshot.scaler->growth_interval, 3);
}

TEST(Import, NeverInventsWhatTheFileDoesNotHold) {
  auto imported = Import("seed_example.pt");
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot& snapshot = imported->snapshot;
  for (Item item : {Item::RNG_CPU, Item::SAMPLER_CURSOR, Item::CONFIG,
                    Item::SCHED_DEFINITION, Item::SCHED_UNIT, Item::ENVIRONMENT,
                    Item::COUNTERS_SKIPPED}) {
    EXPECT_EQ(PresenceOf(snapshot, item), Presence::PRESENCE_OMITTED)
        << TextOf(item);
    EXPECT_FALSE(snapshot.Find(item)->reason.empty());
  }
  EXPECT_EQ(HighestLevel(snapshot), ResumeLevel::RESUME_LEVEL_UNSPECIFIED);
  const absl::Status required = RequireFor(snapshot, ResumeLevel::BITWISE, {});
  EXPECT_TRUE(absl::StrContains(required.message(), "sampler.cursor"))
      << required;
}

TEST(Import, FollowsGroupsByDimensionsAndTiedWeights) {
  auto imported = Import("nanogpt.pt");
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
  EXPECT_EQ(snapshot.step, 3);
  const OptimizerState& optimizer = *snapshot.optimizer;
  EXPECT_EQ(optimizer.kind, "adamw");
  EXPECT_EQ(optimizer.groups[0].parameters,
            (std::vector<std::string>{"wte.weight", "mlp.weight"}));
  EXPECT_EQ(optimizer.groups[1].parameters,
            (std::vector<std::string>{"ln.weight", "ln.bias", "mlp.bias"}));
  EXPECT_EQ(optimizer.groups[0].weight_decay, 0.1);
  const std::string notes = absl::StrJoin(imported->notes, "\n");
  EXPECT_TRUE(absl::StrContains(notes, "head.weight is wte.weight")) << notes;
  EXPECT_TRUE(absl::StrContains(notes, "two and more dimensions")) << notes;
  std::map<std::string, UserValue> user;
  for (const UserValue& value : snapshot.user) user[value.name] = value;
  EXPECT_EQ(std::get<int64_t>(user["model_args.n_embd"].value), 4);
  EXPECT_EQ(std::get<std::string>(user["config.dataset"].value),
            "shakespeare_char");
  ASSERT_EQ(snapshot.user_tensors.size(), 1);
  EXPECT_EQ(snapshot.user_tensors[0].name(), "best_val_loss");
}

TEST(Import, C10_RefusesPositionsThatFitTwoOrders) {
  // Two groups of one 2-by-2 matrix and one bias of 2 each... swapped they
  // would fit as well.
  PyDocument document;
  auto add = [&](PyValue::Kind kind) {
    document.values.emplace_back();
    document.values.back().kind = kind;
    return &document.values.back();
  };
  auto text = [&](const char* t) {
    PyValue* value = add(PyValue::Kind::kText);
    value->text = t;
    return value;
  };
  static const float data[2] = {1, 2};
  PyValue* root = add(PyValue::Kind::kDict);
  PyValue* model = add(PyValue::Kind::kDict);
  for (const char* name : {"a.bias", "b.weight"}) {
    PyValue* tensor = add(PyValue::Kind::kNone);
    SetTensor(Tensor::View("", DType::kF32,
                           name[0] == 'a' ? std::vector<int64_t>{2}
                                          : std::vector<int64_t>{2, 1},
                           data),
              tensor);
    model->entries.emplace_back(text(name), tensor);
  }
  root->entries.emplace_back(text("model"), model);
  PyValue* groups = add(PyValue::Kind::kList);
  for (int64_t g = 0; g < 2; ++g) {
    PyValue* group = add(PyValue::Kind::kDict);
    for (const char* key : {"lr", "weight_decay", "momentum", "dampening"}) {
      group->entries.emplace_back(text(key), add(PyValue::Kind::kReal));
    }
    PyValue* position = add(PyValue::Kind::kInt);
    position->integer = g;
    PyValue* params = add(PyValue::Kind::kList);
    params->items = {position};
    group->entries.emplace_back(text("params"), params);
    groups->items.push_back(group);
  }
  PyValue* optimizer = add(PyValue::Kind::kDict);
  optimizer->entries.emplace_back(text("state"), add(PyValue::Kind::kDict));
  optimizer->entries.emplace_back(text("param_groups"), groups);
  root->entries.emplace_back(text("optimizer"), optimizer);
  document.root = root;
  const TorchFile file{std::move(document)};
  const auto imported = ImportTorch(file, {});
  EXPECT_EQ(RefusalOf(imported.status()), Refusal::MISMATCH);
  EXPECT_TRUE(
      absl::StrContains(imported.status().message(), "more than one order"))
      << imported.status();
  ImportOptions options;
  options.groups = {".*weight", ".*bias"};
  const auto told = ImportTorch(file, options);
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->snapshot.optimizer->groups[0].parameters,
            std::vector<std::string>{"b.weight"});
}

TEST(Import, RefusesOptionsThatFitNothingAndNamesWhatThereIs) {
  ImportOptions options;
  options.groups = {".*"};
  EXPECT_EQ(Import("nanogpt.pt", options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.groups = {"wte.*", ".*"};
  EXPECT_EQ(RefusalOf(Import("nanogpt.pt", options).status()),
            Refusal::MISMATCH);
  options = {};
  options.model_key = "weights";
  const absl::Status status = Import("nanogpt.pt", options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "iter_num")) << status;
  options = {};
  options.groups = {"(", ".*"};
  EXPECT_EQ(Import("nanogpt.pt", options).status().code(),
            absl::StatusCode::kInvalidArgument);
  const absl::Status none = Import("everything.pt").status();
  EXPECT_EQ(RefusalOf(none), Refusal::MISSING_ITEM) << none;
}

TEST(Import, ABareStateDictIsWeightsOnly) {
  auto imported = Import("state_dict.pt");
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
  EXPECT_EQ(snapshot.step, 0);
  EXPECT_EQ(snapshot.parameters.size(), 6);
  EXPECT_FALSE(snapshot.optimizer.has_value());
}

TEST(Import, SafetensorsAreWeightsOnly) {
  const auto file = ReadSafetensors(FileSystem::Real(),
                                    FixturePath("everything.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  ImportOptions options;
  options.step = 7;
  const auto imported = ImportSafetensors(*file, options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
  EXPECT_EQ(snapshot.step, 7);
  EXPECT_EQ(snapshot.parameters.size(), file->tensors.size());
  EXPECT_EQ(PresenceOf(snapshot, Item::MODEL_TIES), Presence::PRESENCE_OMITTED);
}

TEST(Export, GivesBackBitForBitWhatWasImported) {
  for (const std::string name : {"seed_example", "nanogpt"}) {
    auto imported = Import(absl::StrCat(name, ".pt"));
    ASSERT_TRUE(imported.ok()) << imported.status();
    const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
    const PyDocument document = ExportTorch(snapshot);
    const std::string lines = DescribeValues(*document.root);
    const std::string expected = ReadFixture(absl::StrCat(name, ".txt"));
    for (const char* prefix : {"/model/", "/optimizer/state/", "/scaler"}) {
      EXPECT_EQ(Below(lines, prefix), Below(expected, prefix)) << name;
    }
    for (const char* option : {"lr", "betas/0", "betas/1", "eps", "params/0",
                               "amsgrad", "decoupled_weight_decay"}) {
      const std::string path =
          absl::StrCat("/optimizer/param_groups/0/", option, " ");
      EXPECT_EQ(Below(lines, path), Below(expected, path)) << name;
    }
  }
}

// tools/parity/run.sh interop loaded this very file into Python's model, Adam
// and GradScaler, and the next step was that of the original, bit for bit.
TEST(Export, WritesTheFileThatPythonWasShownToGoOnFrom) {
  auto imported = Import("seed_example.pt");
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
  const PyDocument document = ExportTorch(snapshot);
  const auto bytes =
      ReadSmallFile(FileSystem::Real(),
                    WriteTempTorchFile("exported.pt", *document.root), 1 << 20);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE(*bytes == ReadFixture("exported_seed_example.pt"));
}

TEST(Export, KeepsTiesAsOneStorage) {
  auto imported = Import("nanogpt.pt");
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
  const PyDocument document = ExportTorch(snapshot);
  const auto again = ReadTorchFile(
      FileSystem::Real(), WriteTempTorchFile("tied.pt", *document.root));
  ASSERT_TRUE(again.ok()) << again.status();
  const PyValue* model = again->document.root->Get("model");
  EXPECT_EQ(TensorOf(*model->Get("wte.weight"))->data(),
            TensorOf(*model->Get("head.weight"))->data());
}

TEST(Export, C23_MastersGoThereAndBackByTheirNames) {
  // Apart: two names of one storage would be tied.
  static constexpr uint16_t kHalves[2][2] = {{0x3f80, 0x4000}, {0x4000, 0}};
  static constexpr float kMasters[2][2] = {{1 + 0x1p-8f, 2}, {2, 0x1p-130f}};
  Snapshot snapshot = FullSnapshot(60);
  snapshot.masters.clear();
  PyDocument document = ExportTorch(snapshot);
  EXPECT_EQ(document.root->Get("master"), nullptr);
  snapshot.parameters.clear();
  for (int i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "a" : "b";
    snapshot.parameters.push_back(
        Tensor::View(name, DType::kBF16, {2}, kHalves[i]));
    snapshot.masters.push_back(
        Tensor::View(name, DType::kF32, {2}, kMasters[i]));
  }
  snapshot.buffers.clear();
  snapshot.ema_weights.clear();
  snapshot.optimizer.reset();
  snapshot.schedule.reset();
  document = ExportTorch(snapshot);
  const auto file = ReadTorchFile(
      FileSystem::Real(), WriteTempTorchFile("masters.pt", *document.root));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto imported = ImportTorch(*file, {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot& back = imported->snapshot;
  EXPECT_EQ(PresenceOf(back, Item::MASTER), Presence::PRESENCE_SAVED);
  ASSERT_EQ(back.masters.size(), 2);
  EXPECT_EQ(back.masters[1].name(), "b");
  EXPECT_EQ(std::memcmp(back.masters[1].data(), kMasters[1], 8), 0);
  // Told that there are none, none are made up.
  ImportOptions options;
  options.master_key = "";
  const auto without = ImportTorch(*file, options);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(PresenceOf(without->snapshot, Item::MASTER),
            Presence::PRESENCE_OMITTED);
}

TEST(Import, MastersOfATiedTensorMayStandUnderEachOfItsNames) {
  auto imported = Import("tied_masters.pt");
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Snapshot snapshot = ThroughCheckpoint(imported->snapshot);
  EXPECT_EQ(PresenceOf(snapshot, Item::MODEL_TIES), Presence::PRESENCE_SAVED);
  ASSERT_EQ(snapshot.masters.size(), snapshot.parameters.size() - 1);
  for (const Tensor& master : snapshot.masters) {
    EXPECT_NE(master.name(), "head.weight");
    EXPECT_EQ(master.dtype(), DType::kF32);
  }
}

TEST(Import, AWordUnderTheUsualKeyOfMastersIsKeptAsTheUsersOwn) {
  static constexpr float kValues[] = {1, 2};
  PyDocument document;
  const auto add = [&document](PyValue::Kind kind, const std::string& text) {
    PyValue& value = document.values.emplace_back();
    value.kind = kind;
    value.text = text;
    return &value;
  };
  PyValue* weight = add(PyValue::Kind::kNone, "");
  SetTensor(Tensor::View("", DType::kF32, {2}, kValues), weight);
  PyValue* model = add(PyValue::Kind::kDict, "");
  model->entries.emplace_back(add(PyValue::Kind::kText, "w"), weight);
  PyValue* root = add(PyValue::Kind::kDict, "");
  root->entries.emplace_back(add(PyValue::Kind::kText, "model"), model);
  root->entries.emplace_back(add(PyValue::Kind::kText, "master"),
                             add(PyValue::Kind::kBool, ""));
  document.root = root;
  const auto imported = ImportTorch(TorchFile{std::move(document)}, {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->snapshot.masters.empty());
  bool kept = false;
  for (const UserValue& user : imported->snapshot.user) {
    kept |= user.name == "master";
  }
  EXPECT_TRUE(kept);
}

TEST(Export, HoldsEmaAndCountersWhereThereAreAny) {
  const Snapshot full = FullSnapshot(60);
  const PyDocument document = ExportTorch(full);
  const PyValue& root = *document.root;
  EXPECT_EQ(root.Get("step")->integer, 60);
  EXPECT_EQ(root.Get("applied")->integer,
            static_cast<int64_t>(full.counters->applied));
  EXPECT_EQ(root.Get("ema")->entries.size(), full.ema_weights.size());
  EXPECT_EQ(root.Get("scheduler")->Get("last_epoch")->integer,
            static_cast<int64_t>(full.schedule->position));
}

}  // namespace
}  // namespace reprise
