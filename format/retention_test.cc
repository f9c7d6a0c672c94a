#include "format/retention.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Name(uint64_t step) { return absl::StrFormat("step-%012d", step); }

// A run that exists only as answers.
struct Answers {
  std::map<uint64_t, CheckpointProbe> checkpoints;  // by step
  std::vector<uint64_t> newer_formats;
  std::vector<std::string> asked;

  // Steps that are removed, ascending.
  std::vector<uint64_t> Removed(const RetentionPolicy& policy) {
    std::vector<RunEntry> entries;
    for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
      entries.push_back(
          {Name(it->first), ParseCheckpointName(Name(it->first))});
    }
    auto plan = DecideRetention(
        entries, policy,
        [&](const std::string& name) {
          asked.push_back(name);
          return checkpoints[ParseCheckpointName(name)->step];
        },
        [&](const std::string& name) {
          for (uint64_t step : newer_formats) {
            if (Name(step) == name) return true;
          }
          return false;
        });
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<uint64_t> removed;
    for (auto it = plan->rbegin(); it != plan->rend(); ++it) {
      EXPECT_FALSE(it->reason.empty()) << it->name;
      if (!it->keep) removed.push_back(ParseCheckpointName(it->name)->step);
    }
    return removed;
  }
};

Answers Verified(const std::vector<uint64_t>& steps) {
  Answers run;
  for (uint64_t step : steps) run.checkpoints[step].verified = true;
  return run;
}

RetentionPolicy Policy(int keep_last, uint64_t keep_every = 0,
                       bool keep_best = false) {
  RetentionPolicy policy;
  policy.keep_last = keep_last;
  policy.keep_every = keep_every;
  policy.keep_best = keep_best;
  return policy;
}

// Rules: PRUNE-1
TEST(RetentionTest, NewestVerifiedAreKeptAndOnlyTheyAreRead) {
  Answers run = Verified({10, 20, 30, 40, 50});
  EXPECT_THAT(run.Removed(Policy(2)), ElementsAre(10, 20, 30));
  EXPECT_THAT(run.asked, ElementsAre(Name(50), Name(40)));
  run = Verified({10, 20, 30, 40, 50});
  run.checkpoints[50].verified = false;
  run.checkpoints[30].verified = false;
  EXPECT_THAT(run.Removed(Policy(2)), ElementsAre(10));
}

// Rules: PRUNE-2
TEST(RetentionTest, LastVerifiedIsProtectedHoweverManyDamagedAreNewer) {
  Answers run = Verified({10, 20});
  for (uint64_t step : {30, 40, 50, 60}) run.checkpoints[step] = {};
  EXPECT_THAT(run.Removed(Policy(1)), ElementsAre(10));
  run.checkpoints[20].verified = false;
  EXPECT_THAT(run.Removed(Policy(1)), IsEmpty());
  // None verifies at all: nothing goes.
  run.checkpoints[10].verified = false;
  EXPECT_THAT(run.Removed(Policy(1)), IsEmpty());
}

// Rules: PRUNE-2
TEST(RetentionTest, C37_NewerFormatsAreNeverRemoved) {
  Answers run = Verified({10, 20, 30});
  run.checkpoints[10].verified = false;
  run.newer_formats = {10};
  EXPECT_THAT(run.Removed(Policy(1)), ElementsAre(20));
}

// Rules: PRUNE-4
TEST(RetentionTest, MultiplesAreKept) {
  Answers run = Verified({500, 999, 1000, 1500, 2000, 2500, 2600});
  EXPECT_THAT(run.Removed(Policy(1, 1000)), ElementsAre(500, 999, 1500, 2500));
  EXPECT_THAT(Verified({0, 1, 2}).Removed(Policy(1, 2)), ElementsAre(1));
}

// Rules: PRUNE-4
TEST(RetentionTest, BestIsWhatTheNewestVerifiedOneSays) {
  Answers run = Verified({10, 20, 30, 40, 50});
  run.checkpoints[20].best_step = 20;
  run.checkpoints[40].best_step = 30;
  run.checkpoints[50].best_step = 30;
  EXPECT_THAT(run.Removed(Policy(1, 0, true)), ElementsAre(10, 20, 40));
  // Not asked for.
  EXPECT_THAT(run.Removed(Policy(1)), ElementsAre(10, 20, 30, 40));
  // The newest is damaged: the one before says.
  run.checkpoints[50] = {};
  run.checkpoints[40].best_step = 20;
  EXPECT_THAT(run.Removed(Policy(1, 0, true)), ElementsAre(10, 30));
  // Saved at no checkpoint's step.
  run.checkpoints[40].best_step = 25;
  EXPECT_THAT(run.Removed(Policy(1, 0, true)), ElementsAre(10, 20, 30));
}

// Rules: PRUNE-4
TEST(RetentionTest, SavesBetweenMicroStepsAreNoMultiplesAndNotTheBest) {
  CheckpointProbe newest;
  newest.verified = true;
  newest.best_step = 10;
  std::vector<RunEntry> entries;
  for (const char* name : {"step-000000000020", "step-000000000010-micro-0002",
                           "step-000000000010", "step-broken"}) {
    entries.push_back({name, ParseCheckpointName(name)});
  }
  auto plan = DecideRetention(
      entries, Policy(1, 10, true), [&](const std::string&) { return newest; },
      [](const std::string&) { return false; });
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->size(), 4u);
  EXPECT_TRUE((*plan)[0].keep);
  EXPECT_FALSE((*plan)[1].keep);
  EXPECT_EQ((*plan)[2].reason, "every 10 steps");
  EXPECT_EQ((*plan)[3].reason, "no checkpoint's name");
}

TEST(RetentionTest, PolicyThatKeepsNothingIsRefused) {
  auto plan = PlanRetention(FreshTestFolder(), Policy(0));
  EXPECT_EQ(RefusalOf(plan.status()), Refusal::INVALID_VALUE);
  EXPECT_EQ(RefusalOf(PlanRetention("/no/such/run", Policy(1)).status()),
            Refusal::ABSENT);
}

// A whole run: the best one and multiples outlive the others, a plan changes
// nothing and takes no lock, and what is resumed from stays.
// Rules: PRUNE-2 PRUNE-4
TEST(RetentionTest, StoreDoesWhatThePlanSays) {
  const std::string run = FreshTestFolder();
  CheckpointStore::Options options;
  options.format_major = 2;
  options.keep_last = 1;
  options.keep_every = 40;
  options.keep_best = true;
  auto store = CheckpointStore::Open(run, options);
  ASSERT_TRUE(store.ok()) << store.status();
  for (uint64_t step : {10, 20, 30, 40, 50, 60}) {
    Snapshot snapshot = FullSnapshot(step);
    snapshot.best->step = step < 20 ? step : 20;
    ASSERT_TRUE((*store)->Save(snapshot).ok());
  }
  // While the store holds the lock.
  auto plan = PlanRetention(run, Policy(1, 40, true));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ((*store)->List()->size(), 6u);
  auto removed = (*store)->Prune();
  ASSERT_TRUE(removed.ok()) << removed.status();
  std::vector<std::string> planned;
  for (const RetentionDecision& decision : *plan) {
    if (!decision.keep) planned.push_back(decision.name);
  }
  EXPECT_EQ(*removed, planned);
  EXPECT_THAT(*(*store)->List(), ElementsAre(20, 40, 60));
  // Resumed from 60; what is newer does not verify.
  store->reset();
  store = CheckpointStore::Open(run, options);
  auto newest = (*store)->NewestVerified();
  ASSERT_TRUE(newest.ok());
  ASSERT_TRUE((*store)->ResumeFrom(*newest->checkpoint, 2).ok());
  Snapshot next = FullSnapshot(70);
  next.best->step = 20;
  ASSERT_TRUE((*store)->Save(next).ok());
  ASSERT_TRUE(ReplaceFile(JoinPath(JoinPath(run, Name(70)), "manifest.ckpt"),
                          "gone bad")
                  .ok());
  ASSERT_TRUE((*store)->Prune().ok());
  EXPECT_THAT(*(*store)->List(), ElementsAre(20, 40, 60, 70));
}

}  // namespace
}  // namespace reprise
