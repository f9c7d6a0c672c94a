// The score of the judge: every mutant of the fake trainer, as a process that
// is killed and resumed, must be named, and nothing else with it.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "conformance/fake/lose_item.h"
#include "conformance/fake/mutants/mutant.h"
#include "conformance/judge/judge.h"
#include "conformance/judge/testing/describe.h"
#include "conformance/judge/testing/fake_driver.h"
#include "format/io/file_system.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using fake::Mutant;
using fake::Shows;
using testing::Describe;
using testing::FakeDriver;
using testing::KillAt;
using testing::KillInStep;

// Decides the noise of noisy runs; printed once.
uint64_t NoiseSeed() {
  static const uint64_t seed = testing::Seed();
  return seed;
}

v1::RunRequest RequestFor(const Mutant& mutant) {
  v1::RunRequest request;
  request.set_workload(mutant.workload);
  for (const std::string& setting : mutant.settings) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(setting, absl::MaxSplits('=', 1));
    v1::Setting& entry = *request.add_settings();
    entry.set_name(parts.first);
    entry.set_value(parts.second);
  }
  for (uint64_t step : mutant.inject_overflow) {
    request.add_inject_overflow(step);
  }
  if (mutant.workload == "T1") request.set_accumulation(4);
  return request;
}

// Where its table says that it shows, and on demand once more later on.
std::vector<KillAt> KillsFor(const Mutant& mutant, bool again) {
  std::vector<KillAt> kills;
  for (uint64_t step : mutant.kill_steps) {
    kills.push_back(
        KillInStep(step, mutant.shows == Shows::kMidAccumulation ? 2 : 0));
  }
  if (again) kills.push_back(KillInStep(mutant.kill_steps.back() + 34));
  return kills;
}

// Baselines of right runs with the same request. The mutant itself, run
// without interruption, is what a harness would have; most mutants do nothing
// then.
Evidence EvidenceFor(const Mutant& mutant, const fake::Customise& customise,
                     bool quiet, bool again, bool noisy = false) {
  Evidence evidence;
  evidence.request = RequestFor(mutant);
  evidence.description = fake::DescribeFake();
  noisy |= mutant.noisy;
  FakeDriver driver(evidence.request, customise,
                    noisy ? std::optional<uint64_t>(NoiseSeed()) : std::nullopt,
                    quiet);
  if (noisy) evidence.description.set_determinism(v1::ROUNDING);
  for (int i = 0; i < (noisy ? 3 : 2); ++i) {
    evidence.baselines.push_back(driver.Run({}));
  }
  evidence.subject = driver.Run(KillsFor(mutant, again));
  return evidence;
}

// The verdict names one of each group and nothing else.
bool NamesExactly(const v1::Verdict& verdict,
                  const std::vector<std::vector<fake::Finding>>& expected) {
  std::set<size_t> used;
  for (const v1::Finding& finding : verdict.findings()) {
    if (finding.names_size() != 1) return false;
    bool found = false;
    for (size_t i = 0; i < expected.size(); ++i) {
      for (const fake::Finding& wanted : expected[i]) {
        if (wanted.item == finding.names(0).item() &&
            wanted.fault == finding.names(0).fault()) {
          used.insert(i);
          found = true;
        }
      }
    }
    if (!found) return false;
  }
  return used.size() == expected.size();
}

TEST(FakeMutants, C39_EachIsNamedAndNothingElse) {
  int named = 0;
  int all = 0;
  const char* only = std::getenv("REPRISE_MUTANT");
  for (const Mutant& mutant : fake::Mutants()) {
    if (only != nullptr && mutant.id != only) continue;
    const auto expected = fake::ParseExpected(mutant.expected);
    ASSERT_TRUE(expected.ok()) << expected.status();
    v1::Verdict verdict =
        Judge(EvidenceFor(mutant, mutant.install, false, false));
    // What one resume cannot tell apart another may.
    if (std::any_of(verdict.findings().begin(), verdict.findings().end(),
                    [](const v1::Finding& finding) {
                      return finding.names_size() > 1;
                    })) {
      std::cout << mutant.id << " at one resume: " << verdict.summary() << "\n";
      verdict = Judge(EvidenceFor(mutant, mutant.install, false, true));
    }
    ++all;
    const bool right = NamesExactly(verdict, *expected) &&
                       (verdict.outcome() == v1::FAIL) == !expected->empty();
    named += right;
    EXPECT_TRUE(right) << mutant.id << " (" << mutant.fault << ") on "
                       << mutant.workload << " expected: " << mutant.expected
                       << "\n  got: " << Describe(verdict);
  }
  std::cout << "mutants named: " << named << " / " << all << "\n";
}

// The same faults, told by loss, rate and step alone.
TEST(FakeMutants, TerseTesteesStillFailAndAreNeverMisnamed) {
  int noticed = 0, right = 0, all = 0;
  for (const Mutant& mutant : fake::Mutants()) {
    if (mutant.expected.empty() || mutant.expected == "none") continue;
    const auto expected = fake::ParseExpected(mutant.expected);
    ASSERT_TRUE(expected.ok());
    if (expected->empty()) continue;
    const v1::Verdict verdict =
        Judge(EvidenceFor(mutant, mutant.install, true, false));
    ++all;
    noticed += verdict.outcome() == v1::FAIL;
    bool named = false;
    for (const v1::Finding& finding : verdict.findings()) {
      for (const auto& group : *expected) {
        for (const fake::Finding& wanted : group) {
          for (const v1::FaultName& name : finding.names()) {
            named |= wanted.item == name.item();
          }
        }
      }
    }
    right += named;
    if (verdict.outcome() == v1::FAIL && !named) {
      std::cout << mutant.id << " terse, expected " << mutant.expected << ": "
                << Describe(verdict);
    }
  }
  std::cout << "terse: " << noticed << " noticed, " << right
            << " with the right item among those given, of " << all << "\n";
  EXPECT_GE(noticed, all - 30);
}

// Rounding noise in every gradient: digests of what was saved and loaded stay
// exact, curves are compared within the noise.
TEST(FakeMutants, AreNamedThroughNoise) {
  int named = 0;
  int all = 0;
  for (const Mutant& mutant : fake::Mutants()) {
    const auto expected = fake::ParseExpected(mutant.expected);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const v1::Verdict verdict =
        Judge(EvidenceFor(mutant, mutant.install, false, false, true));
    ++all;
    const bool right = NamesExactly(verdict, *expected);
    named += right;
    if (!right) {
      std::cout << mutant.id << " through noise, expected " << mutant.expected
                << ": " << Describe(verdict);
    }
  }
  std::cout << "mutants named through noise: " << named << " / " << all << "\n";
  EXPECT_GE(named, all - 12);
}

TEST(FakeMutants, C39_FourAtOnceAreAllNamed) {
  const std::vector<std::vector<std::string>> sets = {
      {"M21", "M15", "M29", "M45"},
      {"M03", "M37", "M22", "M26"},
      {"M02", "M13", "M30", "M36.cuda"}};
  for (const auto& ids : sets) {
    const auto mutants = fake::FindMutants(absl::StrJoin(ids, ","));
    ASSERT_TRUE(mutants.ok()) << mutants.status();
    std::vector<std::vector<fake::Finding>> expected;
    fake::Customise all;
    for (const Mutant* mutant : *mutants) {
      const auto one = fake::ParseExpected(mutant->expected);
      ASSERT_TRUE(one.ok());
      expected.insert(expected.end(), one->begin(), one->end());
    }
    Mutant together = *(*mutants)[0];
    together.workload = "T0";
    together.kill_steps = {63};
    const v1::Verdict verdict = Judge(EvidenceFor(
        together,
        [&](const fake::Assembly& assembly) {
          for (const Mutant* mutant : *mutants) mutant->install(assembly);
        },
        false, false));
    EXPECT_TRUE(NamesExactly(verdict, expected))
        << absl::StrJoin(ids, ",") << ": " << Describe(verdict);
  }
}

// A lineage killed in step 63 whose checkpoint is edited before the resume.
LineageEvidence EditedLineage(
    FakeDriver* driver, const std::function<absl::Status(std::string)>& edit) {
  LineageEvidence lineage;
  driver->Restart();
  lineage.attempts.push_back(driver->Again(KillInStep(63)));
  const absl::Status status = edit(driver->run_folder());
  EXPECT_TRUE(status.ok()) << status;
  lineage.attempts.push_back(driver->Again(std::nullopt));
  return lineage;
}

Evidence RightEvidence(FakeDriver* driver, const v1::RunRequest& request) {
  Evidence evidence;
  evidence.request = request;
  evidence.description = fake::DescribeFake();
  for (int i = 0; i < 2; ++i) evidence.baselines.push_back(driver->Run({}));
  evidence.subject = driver->Run({KillInStep(63)});
  return evidence;
}

TEST(FakePower, EveryItemThatCanBeLostWouldShow) {
  for (const char* workload : {"T0", "T0.plateau"}) {
    v1::RunRequest request;
    request.set_workload(workload);
    FakeDriver driver(request, nullptr);
    Evidence evidence = RightEvidence(&driver, request);
    for (Item item : fake::LosableItems()) {
      ControlEvidence control;
      control.item = item;
      bool lost = true;
      control.lineage = EditedLineage(&driver, [&](const std::string& folder) {
        const absl::Status status =
            fake::LoseItem(FileSystem::Real(), folder, item);
        // The workload has no such item.
        lost = status.ok();
        return absl::OkStatus();
      });
      if (lost) evidence.controls.push_back(std::move(control));
    }
    const v1::Verdict verdict = Judge(evidence);
    int shown = 0, absent = 0;
    for (const v1::Power& power : verdict.power()) {
      shown += power.status() == v1::Power::SHOWN;
      absent += power.status() == v1::Power::STATUS_UNSPECIFIED;
      EXPECT_NE(power.status(), v1::Power::NOT_SHOWN)
          << workload << ": " << power.text();
    }
    std::cout << workload << ": " << shown << " controls shown, " << absent
              << " had nothing to lose\n";
    EXPECT_GT(shown, 10) << workload;
    EXPECT_EQ(verdict.outcome(), v1::PASS) << Describe(verdict);
  }
}

TEST(FakePower, AControlThatMovesNothingMakesTheVerdictInconclusive) {
  v1::RunRequest request;
  request.set_workload("T0");
  // A terse testee records nothing that the averaged weights move.
  FakeDriver driver(request, nullptr, std::nullopt, true);
  Evidence evidence = RightEvidence(&driver, request);
  evidence.description.clear_digests();
  EXPECT_EQ(Judge(evidence).outcome(), v1::PASS);
  ControlEvidence control;
  control.item = Item::EMA_WEIGHTS;
  control.lineage = EditedLineage(&driver, [](const std::string& folder) {
    return fake::LoseItem(FileSystem::Real(), folder, Item::EMA_WEIGHTS);
  });
  evidence.controls = {control};
  EXPECT_EQ(Judge(evidence).outcome(), v1::INCONCLUSIVE);
  // The schedule it does record.
  evidence.controls[0].item = Item::SCHED_POSITION;
  evidence.controls[0].lineage =
      EditedLineage(&driver, [](const std::string& folder) {
        return fake::LoseItem(FileSystem::Real(), folder, Item::SCHED_POSITION);
      });
  EXPECT_EQ(Judge(evidence).outcome(), v1::PASS) << Describe(Judge(evidence));
}

TEST(FakePower, C39_SaysThatAResumeEqualsAWeightsOnlyOne) {
  v1::RunRequest request;
  request.set_workload("T0");
  FakeDriver driver(request, nullptr);
  Evidence evidence = RightEvidence(&driver, request);
  const auto weights_only = [](const std::string& folder) {
    return fake::KeepWeightsOnly(FileSystem::Real(), folder);
  };
  ControlEvidence control;
  control.lineage = EditedLineage(&driver, weights_only);
  evidence.controls.push_back(control);
  EXPECT_EQ(Judge(evidence).notes_size(), 0) << Describe(Judge(evidence));
  // A trainer that restores nothing but the weights.
  evidence.subject = EditedLineage(&driver, weights_only);
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::FAIL);
  ASSERT_GE(verdict.notes_size(), 1) << Describe(verdict);
  EXPECT_NE(Describe(verdict).find("same as a cold optimizer"),
            std::string::npos)
      << Describe(verdict);
}

}  // namespace
}  // namespace reprise::conformance
