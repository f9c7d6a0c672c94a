// Faults of the reference trainer, made from outside: between a kill and the
// resume the committed checkpoint is edited, whole and valid, so that the
// trainer resumes as one that lost that state would. Each must be named, and
// nothing else with it, or the trainer refuses the checkpoint and names it.
// What MUTANTS.md lists and is not here needs a fault in the loop itself, or
// state that the bed does not have, or cannot be written at all (moments that
// are EMPTY after applied steps); the fake has those.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "conformance/judge/judge.h"
#include "conformance/judge/judge_campaign.h"
#include "conformance/perturb/edit_checkpoint.h"
#include "conformance/runner/campaign.h"
#include "conformance/runner/lineage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

struct Mutant {
  std::string id;
  // Names, all of which must be given and no other.
  std::set<std::string> names;
  std::function<absl::Status(const std::string& run_folder)> edit;
  // The trainer itself notices: it refuses the checkpoint, naming this item.
  std::string refused = {};
};

// An edit of the newest checkpoint alone.
Mutant Edited(const std::string& id, std::set<std::string> names,
              std::function<void(Snapshot*)> edit) {
  return {id, std::move(names), [edit](const std::string& run_folder) {
            return EditNewest(run_folder, [&](const Snapshot*, Snapshot* s) {
              edit(s);
              return absl::OkStatus();
            });
          }};
}

// One that needs the checkpoint before it.
Mutant Mixed(const std::string& id, std::set<std::string> names,
             std::function<void(const Snapshot&, Snapshot*)> edit) {
  return {id, std::move(names), [edit](const std::string& run_folder) {
            return EditNewest(run_folder,
                              [&](const Snapshot* older, Snapshot* s) {
                                if (older == nullptr) {
                                  return absl::FailedPreconditionError(
                                      "there is no older checkpoint");
                                }
                                edit(*older, s);
                                return absl::OkStatus();
                              });
          }};
}

Mutant Refused(const std::string& id, const std::string& item,
               std::function<void(Snapshot*)> edit) {
  Mutant mutant = Edited(id, {}, std::move(edit));
  mutant.refused = item;
  return mutant;
}

Mutant Lost(const std::string& id, std::set<std::string> names, Item item) {
  return {id, std::move(names), [item](const std::string& run_folder) {
            return LoseItem(run_folder, item);
          }};
}

void MoveCursor(Snapshot* s, int64_t samples) {
  s->sampler->cursor += samples;
  s->counters->samples += samples;
}

absl::Status RemoveCheckpoints(const std::string& run_folder, bool all) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(run_folder)) {
    const std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, "step-")) names.insert(name);
  }
  while (!names.empty()) {
    fs::remove_all(run_folder + "/" + *names.rbegin());
    names.erase(*names.rbegin());
    if (!all) break;
  }
  return absl::OkStatus();
}

const std::vector<Mutant>& Mutants() {
  static const auto* mutants = new std::vector<Mutant>{
      Lost("m02", {"model.buffers:RESET"}, Item::MODEL_BUFFERS),
      Lost("m04", {"optim.moments:RESET"}, Item::OPTIM_MOMENTS),
      Lost("m07", {"optim.identity:SWAPPED or optim.moments:PARTIAL"},
           Item::OPTIM_IDENTITY),
      Lost("m08", {"optim.groups:RESET"}, Item::OPTIM_GROUPS),
      Refused("m13", "sched.position",
              [](Snapshot* s) { s->schedule->position = 0; }),
      Refused("m15", "sched.position",
              [](Snapshot* s) { ++s->schedule->position; }),
      Refused("m18", "sched.horizon",
              [](Snapshot* s) { s->schedule->horizon *= 2; }),
      Edited("m20", {"scaler.scale:SIDE_EFFECT"},
             [](Snapshot* s) { s->scaler->scale *= 2; }),
      Edited("m21", {"scaler.scale:RESET"},
             [](Snapshot* s) { s->scaler->scale = 1048576; }),
      Lost("m22", {"scaler.growth_tracker:RESET"}, Item::SCALER_GROWTH_TRACKER),
      Edited("m26", {"sampler.cursor:RESET", "counters.samples:RESET"},
             [](Snapshot* s) {
               MoveCursor(s, -static_cast<int64_t>(s->sampler->cursor));
             }),
      Edited("m29", {"sampler.cursor:LAG", "counters.samples:LAG"},
             [](Snapshot* s) { MoveCursor(s, -10); }),
      Edited("m30", {"sampler.cursor:LEAD", "counters.samples:LEAD"},
             [](Snapshot* s) { MoveCursor(s, 10); }),
      Mixed("m37", {"rng.cpu:STALE"},
            [](const Snapshot& older, Snapshot* s) {
              s->generators = older.generators;
            }),
      Mixed("m43", {"generation:MIXED"},
            [](const Snapshot& older, Snapshot* s) {
              s->optimizer->states = older.optimizer->states;
              s->generators = older.generators;
            }),
      Mixed("m48", {"snapshot:TORN"},
            [](const Snapshot& older, Snapshot* s) {
              for (size_t i = 0; i < s->parameters.size() / 2; ++i) {
                s->parameters[i] = older.parameters[i];
                s->optimizer->states[i].moments =
                    older.optimizer->states[i].moments;
              }
            }),
      {"m51",
       {"source:STALE"},
       [](const std::string& run_folder) {
         return RemoveCheckpoints(run_folder, false);
       }},
      {"m52",
       {"source:NONE"},
       [](const std::string& run_folder) {
         return RemoveCheckpoints(run_folder, true);
       }},
  };
  return *mutants;
}

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ReferenceMutants, C39_EachIsNamedAndNothingElse) {
  CampaignOptions options;
  // Killed in step 15: the checkpoint is of step 12, inside the first epoch,
  // with two good steps counted by the scaler, and that of step 8 is there too.
  options.seed = 1;
  options.controlled_case = "held_p3";
  options.testee.command = {
      (fs::current_path() / "trainer/testee/testee").string()};
  options.out = absl::StrCat(std::getenv("TEST_TMPDIR"), "/mutants");
  options.probe = false;
  options.kills = 1;
  options.base.set_workload("mlp");
  options.base.set_precision("fp16");
  options.base.set_steps(60);
  options.base.set_save_every(4);
  options.only = {"default/held_p3"};
  for (const Mutant& mutant : Mutants()) {
    options.controls.push_back({mutant.id, mutant.edit});
    options.only.push_back("default/control-" + mutant.id);
  }
  const auto result = RunCampaign(options);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto files = ReadCampaign(options.out);
  ASSERT_TRUE(files.ok()) << files.status();

  size_t judged = 0;
  for (const CaseFiles& one : files->cases) {
    if (one.plan.control().empty()) continue;
    for (const Mutant& mutant : Mutants()) {
      if (mutant.id != one.plan.control()) continue;
      ++judged;
      EXPECT_TRUE(one.record.complete())
          << mutant.id << ": " << one.record.reason();
      if (!mutant.refused.empty()) {
        EXPECT_EQ(one.attempts.back().record.outcome(),
                  v1::OUTCOME_CHECKPOINT_REJECTED)
            << mutant.id;
        EXPECT_THAT(ReadText(options.out + "/default/" + one.plan.name() +
                             "/attempt-2/stderr"),
                    ::testing::HasSubstr(mutant.refused))
            << mutant.id;
        continue;
      }
      const v1::Verdict verdict = Judge(EvidenceForCase(*files, one));
      const std::vector<std::string> names = NamesOf(verdict);
      std::string why;
      for (const v1::Finding& finding : verdict.findings()) {
        absl::StrAppend(&why, "\n  ", finding.channel(), ": ",
                        finding.evidence());
      }
      EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), mutant.names)
          << mutant.id << " gives " << absl::StrJoin(names, ", ") << why
          << "\nagain: " << one.record.replay();
    }
  }
  EXPECT_EQ(judged, Mutants().size());
  std::printf("mutants of the reference trainer judged: %d\n",
              static_cast<int>(judged));
}

}  // namespace
}  // namespace reprise::conformance
