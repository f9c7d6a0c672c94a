#include "format/migrate/rename_v2.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/migrate/in_memory_v2.h"
#include "format/refusal.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kDigest[] = "source digest 16";

struct Source {
  std::string manifest;
  ManifestV2 decoded;
};

Source Of(const Snapshot& snapshot) {
  auto in_memory = ToV2InMemory(snapshot, {});
  EXPECT_TRUE(in_memory.ok()) << in_memory.status();
  auto decoded = DecodeV2(in_memory->manifest);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return {in_memory->manifest, *std::move(decoded)};
}

absl::StatusOr<RenamedV2> Rename(const Source& source,
                                 const std::string& rules_text) {
  auto rules = RenameRules::Parse(rules_text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return RenameV2(source.decoded, kDigest, *rules);
}

// Root digests of every row, by item, part and renamed name.
std::multiset<std::string> Roots(const std::vector<TableEntry>& entries) {
  std::multiset<std::string> roots;
  for (const TableEntry& entry : entries) {
    roots.insert(absl::StrCat(TextOf(entry.item), entry.part, entry.root));
  }
  return roots;
}

const TableEntry* Find(const ManifestV2& manifest, Item item,
                       const std::string& name) {
  for (const TableEntry& entry : manifest.tensors) {
    if (entry.item == item && entry.name == name) return &entry;
  }
  return nullptr;
}

// Rules: MIG-10
TEST(RenameV2, MIG_10_StateThatBelongsToAParameterIsRenamedWithIt) {
  Snapshot snapshot = FullSnapshotInStep(60, 2);
  const Source source = Of(snapshot);
  auto renamed = Rename(source, "^fc\\. -> head_of.\n^conv\\. -> a.conv.");
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_THAT(renamed->names, ElementsAre(Pair("conv.weight", "a.conv.weight"),
                                          Pair("fc.bias", "head_of.bias"),
                                          Pair("fc.weight", "head_of.weight")));
  auto after = DecodeV2(renamed->manifest);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(Roots(after->tensors), Roots(source.decoded.tensors));
  EXPECT_NE(Find(*after, Item::MODEL_PARAMS, "head_of.weight"), nullptr);
  EXPECT_NE(Find(*after, Item::OPTIM_MOMENTS, "head_of.weight"), nullptr);
  EXPECT_NE(Find(*after, Item::EMA_WEIGHTS, "head_of.weight"), nullptr);
  EXPECT_NE(Find(*after, Item::MASTER, "a.conv.weight"), nullptr);
  EXPECT_NE(Find(*after, Item::ACCUM_GRADS, "head_of.bias"), nullptr);
  for (const TableEntry& entry : after->tensors) {
    EXPECT_NE(entry.name.substr(0, 3), "fc.") << entry.Describe();
  }
  EXPECT_THAT(after->snapshot.optimizer->groups[0].parameters,
              ElementsAre("head_of.weight"));
  EXPECT_EQ(after->snapshot.optimizer->states[0].parameter, "head_of.weight");
  EXPECT_EQ(after->snapshot.optimizer->states[0].step, 60u);
  // The user's own tensors are not parameters.
  EXPECT_NE(Find(*after, Item::USER, "replay"), nullptr);
  // Everything else is as it was, but for the names.
  EXPECT_EQ(after->shards.size(), source.decoded.shards.size());
  EXPECT_NE(after->value_digest, source.decoded.value_digest);
}

TEST(RenameV2, MIG_10_RenamingBackGivesTheSameState) {
  const Source source = Of(FullSnapshot(60));
  auto there = Rename(source, "^(embed|fc|norm)\\. -> zz.\\1.");
  ASSERT_TRUE(there.ok()) << there.status();
  auto middle = DecodeV2(there->manifest);
  ASSERT_TRUE(middle.ok());
  auto back = Rename({there->manifest, *middle}, "^zz\\. ->");
  ASSERT_TRUE(back.ok()) << back.status();
  auto after = DecodeV2(back->manifest);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->value_digest, source.decoded.value_digest);
  EXPECT_EQ(after->snapshot.history.size(), 2u);
}

TEST(RenameV2, MIG_10_TiesFollowWhicheverNameComesFirst) {
  const Source source = Of(FullSnapshot(60));
  // embed.weight owned the bytes; now head.weight sorts before it.
  auto renamed = Rename(source, "^embed\\. -> zebra.");
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  auto after = DecodeV2(renamed->manifest);
  ASSERT_TRUE(after.ok()) << after.status();
  const TableEntry* head = Find(*after, Item::MODEL_PARAMS, "head.weight");
  const TableEntry* zebra = Find(*after, Item::MODEL_PARAMS, "zebra.weight");
  ASSERT_TRUE(head != nullptr && zebra != nullptr);
  EXPECT_EQ(head->alias, 0u);
  EXPECT_EQ(head->extents.size(), 1u);
  ASSERT_NE(zebra->alias, 0u);
  EXPECT_EQ(&after->tensors[zebra->alias - 1], head);
  EXPECT_TRUE(zebra->extents.empty());
  EXPECT_THAT(*after->snapshot.frozen,
              ElementsAre("head.weight", "zebra.weight"));
}

TEST(RenameV2, MIG_10_ModulesInTheOtherModeFollowTheirTensors) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.mode->modules_in_other_mode = {"drop", "norm"};
  auto renamed = Rename(Of(snapshot), "^norm\\. -> encoder.norm.");
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_THAT(DecodeV2(renamed->manifest)->snapshot.mode->modules_in_other_mode,
              ElementsAre("drop", "encoder.norm"));
  // Its two tensors go to different modules.
  snapshot.mode->modules_in_other_mode = {"fc"};
  auto torn = Rename(Of(snapshot), "^fc\\.bias -> other.bias");
  EXPECT_EQ(RefusalOf(torn.status()), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(torn.status().message()),
              HasSubstr("mode: the module fc"));
}

TEST(RenameV2, MIG_6_HistoryHasTheRules) {
  auto renamed = Rename(Of(FullSnapshot(60)), "^fc\\. -> head_of.");
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  const Snapshot after = DecodeV2(renamed->manifest)->snapshot;
  ASSERT_EQ(after.history.size(), 1u);
  EXPECT_EQ(after.history[0].from_major, 2u);
  EXPECT_EQ(after.history[0].to_major, 2u);
  EXPECT_EQ(after.history[0].program, kRenameProgram);
  EXPECT_EQ(after.history[0].source_manifest_digest, kDigest);
  EXPECT_THAT(after.history[0].notes,
              Contains("renamed by ^fc\\. -> head_of."));
}

TEST(RenameV2, MIG_11_PatternThatNoLongerMatchesIsTold) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.optimizer->groups[0].pattern = "^fc\\.weight$";
  auto renamed = Rename(Of(snapshot), "^fc\\. -> head_of.");
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_THAT(renamed->notes, Contains(HasSubstr("group decay: its pattern")));
}

TEST(RenameV2, MIG_11_RulesThatDoNotFitAreRefused) {
  const Source source = Of(FullSnapshot(60));
  for (const auto& [rules, text] :
       {std::make_pair("^nothing\\. -> x.", "renames nothing"),
        std::make_pair("^replay$ -> x", "renames nothing"),
        std::make_pair("^fc\\.bias -> fc.weight", "both be called fc.weight"),
        std::make_pair("^norm\\.mean$ -> fc.bias", "both be called fc.bias"),
        std::make_pair("^norm\\.mean$ ->", "norm.mean")}) {
    auto renamed = Rename(source, rules);
    EXPECT_EQ(ExitCodeFor(renamed.status()), ExitCode::EXIT_BAD_REQUEST)
        << rules;
    EXPECT_THAT(std::string(renamed.status().message()), HasSubstr(text));
  }
}

TEST(RenameV2, MIG_7_FeaturesAreCarriedAndUnknownFieldsAreNotRenamedPast) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.optional_features = {"sidecar"};
  Source source = Of(snapshot);
  auto renamed = Rename(source, "^fc\\. -> head_of.");
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_THAT(DecodeV2(renamed->manifest)->snapshot.optional_features,
              ElementsAre("sidecar"));
  EXPECT_THAT(renamed->notes, Contains(HasSubstr("sidecar")));
  // Field 99 of the manifest, three bytes, in a later minor version.
  auto later = DecodeV2(source.manifest + std::string("\x9a\x06\x03new", 6), 7);
  ASSERT_TRUE(later.ok()) << later.status();
  source.decoded = *std::move(later);
  EXPECT_EQ(RefusalOf(Rename(source, "^fc\\. -> head_of.").status()),
            Refusal::UNKNOWN_FEATURE);
}

}  // namespace
}  // namespace reprise
