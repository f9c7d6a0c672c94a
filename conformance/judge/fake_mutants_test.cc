// The score of the judge: every mutant of the fake trainer, as a process that
// is killed and resumed, must be named, and nothing else with it.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "conformance/fake/mutants/mutant.h"
#include "conformance/judge/context.h"
#include "conformance/judge/judge.h"
#include "conformance/judge/testing/fake_driver.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using fake::Mutant;
using fake::Shows;
using testing::FakeDriver;
using testing::KillAt;
using testing::KillInStep;

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
                     bool quiet, bool again) {
  Evidence evidence;
  evidence.request = RequestFor(mutant);
  evidence.description = fake::DescribeFake();
  FakeDriver driver(evidence.request, customise, mutant.noisy, quiet);
  for (int i = 0; i < (mutant.noisy ? 3 : 2); ++i) {
    evidence.baselines.push_back(driver.Run({}));
  }
  evidence.subject = driver.Run(KillsFor(mutant, again));
  return evidence;
}

std::string Describe(const v1::Verdict& verdict) {
  std::string text = verdict.summary() + "\n";
  for (const v1::Finding& finding : verdict.findings()) {
    absl::StrAppend(&text, "    ", NamesText(finding), " | attempt ",
                    finding.attempt(), " ", finding.channel(), ": ",
                    finding.evidence(), "\n");
  }
  for (const std::string& note : verdict.notes()) {
    absl::StrAppend(&text, "    note: ", note, "\n");
  }
  return text;
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

// Mutants that are found and not yet named exactly; none may join. One resume
// cannot tell what became of the weights, and two add a torn snapshot.
const char* const kNotNamedExactly[] = {"M55.zeros"};

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
    if (std::find(std::begin(kNotNamedExactly), std::end(kNotNamedExactly),
                  mutant.id) != std::end(kNotNamedExactly)) {
      EXPECT_EQ(verdict.outcome(), v1::FAIL) << Describe(verdict);
      continue;
    }
    EXPECT_TRUE(right) << mutant.id << " (" << mutant.fault << ") on "
                       << mutant.workload << " expected: " << mutant.expected
                       << "\n  got: " << Describe(verdict);
  }
  std::cout << "mutants named: " << named << " / " << all << "\n";
}

}  // namespace
}  // namespace reprise::conformance
