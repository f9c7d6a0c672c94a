// Faults of the reference trainer, made from outside: between a kill and the
// resume the committed checkpoint is edited, whole and valid, so that the
// trainer resumes as one that lost that state would. Each must be named, and
// nothing else with it. What mutants.md lists and is not here needs a fault in
// the loop itself, or state that the trainer does not have; the fake has those.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
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
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

struct Mutant {
  std::string id;
  // Names, all of which must be given and no other.
  std::set<std::string> names;
  std::function<absl::Status(const std::string& run_folder)> edit;
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
      Edited("m03", {"optim.moments:RESET", "optim.step:RESET"},
             [](Snapshot* s) {
               for (ParameterState& state : s->optimizer->states) {
                 state.step = 0;
                 for (Tensor& moment : state.moments) {
                   uint8_t* bytes = nullptr;
                   moment = WritableCopy(moment, &bytes);
                   std::memset(bytes, 0, moment.num_bytes());
                 }
               }
             }),
      Lost("m04", {"optim.moments:RESET"}, Item::OPTIM_MOMENTS),
      Lost("m07", {"optim.identity:SWAPPED"}, Item::OPTIM_IDENTITY),
      Lost("m08", {"optim.groups:RESET"}, Item::OPTIM_GROUPS),
      Lost("m13", {"sched.position:RESET"}, Item::SCHED_POSITION),
      Edited("m15", {"sched.position:LEAD"},
             [](Snapshot* s) { ++s->schedule->position; }),
      Edited("m18", {"sched.horizon:CHANGED"},
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
              s->optimizer = older.optimizer;
              s->generators = older.generators;
              s->schedule = older.schedule;
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

TEST(ReferenceMutants, C39_EachIsNamedAndNothingElse) {
  CampaignOptions options;
  options.seed = 5;
  options.testee.command = {
      (fs::current_path() / "trainer/testee/testee").string()};
  options.out = absl::StrCat(std::getenv("TEST_TMPDIR"), "/mutants");
  options.probe = false;
  options.kills = 1;
  options.base.set_workload("mlp");
  options.base.set_precision("fp16");
  options.base.set_steps(60);
  options.base.set_save_every(4);
  options.only = {"default/inside_first_epoch"};
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
