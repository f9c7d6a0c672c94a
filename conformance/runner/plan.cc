// One file, though a long one: what a profile can show is drawn by functions
// that share its geometry, its epochs and its seed, and read best beside each
// other.
#include "conformance/runner/plan.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "conformance/runner/geometry.h"
#include "conformance/runner/seeded.h"

namespace reprise::conformance {
namespace {

using v1::CasePlan;
using v1::Geometry;
using v1::Kill;
using v1::Point;
using v1::ProfilePlan;

constexpr uint32_t kAccumulation = 4;

bool HasHold(const Description& description, Point point) {
  return std::find(description.hold_points().begin(),
                   description.hold_points().end(),
                   point) != description.hold_points().end();
}

Kill KillAfterStep(uint64_t step, double phase,
                   Kill::Signal signal = Kill::KILL) {
  Kill kill;
  kill.set_where(Kill::AFTER_STEP);
  kill.set_signal(signal);
  kill.set_step(step);
  kill.set_phase(phase);
  return kill;
}

Kill KillAt(Kill::Where where, uint64_t step, double phase,
            Kill::Signal signal = Kill::KILL) {
  Kill kill = KillAfterStep(step, phase, signal);
  kill.set_where(where);
  return kill;
}

Kill KillHeld(Point point, std::optional<uint64_t> step,
              std::optional<uint32_t> micro = std::nullopt) {
  Kill kill;
  kill.set_where(Kill::AT_HOLD);
  kill.set_signal(Kill::KILL);
  kill.mutable_hold()->set_point(point);
  if (step.has_value()) kill.mutable_hold()->set_step(*step);
  if (micro.has_value()) kill.mutable_hold()->set_micro(*micro);
  return kill;
}

// Plans the cases of one profile, in the order of their importance.
class ProfilePlanner {
 public:
  ProfilePlanner(const Description& description, uint64_t seed,
                 ProfilePlan* profile)
      : description_(description),
        seed_(seed),
        profile_(*profile),
        geometry_(profile->geometry()),
        epochs_(EpochsOf(geometry_)) {}

  // One list per round; rounds of all profiles are interleaved.
  std::vector<CasePlan> Grid() {
    Inside("inside_first_epoch", 0);
    // The same checkpoint, resumed a second time: the floor of the noise.
    if (Has("inside_first_epoch")) Repeat("inside_first_epoch");
    EndOf("end_first_epoch", 0);
    const size_t later = LaterEpoch();
    if (later > 0) {
      Inside("inside_later_epoch", later);
      EndOf("end_later_epoch", later);
    } else {
      LeaveOut("inside_later_epoch", "inside_later_epoch", NoLaterEpoch());
      LeaveOut("end_later_epoch", "end_later_epoch", NoLaterEpoch());
    }
    SecondResume(later);
    if (profile_.request().accumulation() > 1) MidAccumulation();
    if (profile_.request().inject_overflow_size() > 0) AroundOverflow();
    return std::move(cases_);
  }

  std::vector<CasePlan> Points() {
    BeforeFirstSave();
    HoldPoints();
    Loads();
    Saves();
    Terms();
    Chain();
    return std::move(cases_);
  }

  CasePlan Random(int number) {
    const std::string name = absl::StrFormat("random-%03d", number);
    Seeded random = For(name);
    CasePlan plan = New(name, "", "a kill at a random moment");
    const int kills = random.Between(0, 3) == 0 ? 2 : 1;
    uint64_t from = 1;
    for (int i = 0; i < kills; ++i) {
      const uint64_t step = random.Between(from, LastKillable());
      const auto signal = random.Between(0, 3) == 0 ? Kill::TERM : Kill::KILL;
      Add(&plan, KillAfterStep(step, random.Share(), signal));
      from = step + 1;
    }
    Close(&plan);
    return plan;
  }

  std::vector<v1::LeftOut> TakeLeftOut() { return std::move(left_out_); }

 private:
  Seeded For(const std::string& name) const {
    return Seeded(seed_, absl::StrCat(profile_.name(), "/", name));
  }

  CasePlan New(const std::string& name, const std::string& grid_point,
               const std::string& purpose) const {
    CasePlan plan;
    plan.set_name(name);
    plan.set_profile(profile_.name());
    plan.set_grid_point(grid_point);
    plan.set_purpose(purpose);
    *plan.mutable_request() = profile_.request();
    return plan;
  }

  void Add(CasePlan* plan, Kill kill) const {
    if (kill.has_step()) kill.set_step(std::min(kill.step(), LastKillable()));
    *plan->add_attempts()->mutable_kill() = kill;
  }
  // The last attempt goes to the end.
  static void Close(CasePlan* plan) { plan->add_attempts(); }

  void Keep(CasePlan plan) {
    Close(&plan);
    cases_.push_back(std::move(plan));
  }

  void LeaveOut(const std::string& name, const std::string& grid_point,
                const std::string& reason) {
    v1::LeftOut left;
    left.set_case_name(name);
    left.set_grid_point(grid_point);
    left.set_reason(reason);
    left_out_.push_back(left);
  }

  bool Has(const std::string& name) const {
    return std::any_of(cases_.begin(), cases_.end(),
                       [&](const CasePlan& one) { return one.name() == name; });
  }

  // The last sixteenth of a run is left alone: its steps may be over before a
  // signal arrives.
  uint64_t LastKillable() const {
    const uint64_t steps = geometry_.steps();
    return std::max<uint64_t>(1, steps - std::max<uint64_t>(1, steps / 16));
  }

  // A few steps behind `save`, before the next save and the end of the run.
  uint64_t BehindSave(uint64_t save, uint64_t spacing, Seeded* random) const {
    const uint64_t room = spacing > 1 ? std::min<uint64_t>(spacing - 1, 4) : 1;
    return std::min(save + random->Between(1, room), LastKillable());
  }

  // Second epoch or later with at least one save inside and, if there is one,
  // with a known end before the run's: 0 when there is none.
  size_t LaterEpoch() const {
    size_t best = 0;
    for (size_t i = 1; i < epochs_.size(); ++i) {
      if (SavesInside(geometry_, epochs_[i]).empty()) continue;
      if (epochs_[i].end_known && epochs_[i].last < geometry_.steps()) return i;
      if (best == 0) best = i;
    }
    return best != 0 ? best : epochs_.size() > 1 ? 1 : 0;
  }

  std::string NoLaterEpoch() const {
    return geometry_.epoch_ends_size() == 0
               ? "its step events do not tell the epoch"
               : "the run has one epoch";
  }

  void Inside(const std::string& name, size_t epoch) {
    Seeded random = For(name);
    CasePlan plan = New(name, name, "resume inside an epoch");
    const std::vector<uint64_t> saves = SavesInside(geometry_, epochs_[epoch]);
    uint64_t step;
    if (saves.empty()) {
      step = random.Between(epochs_[epoch].first,
                            std::min(epochs_[epoch].last, LastKillable()));
    } else {
      step = BehindSave(saves[random.Between(0, saves.size() - 1)],
                        SaveSpacing(geometry_), &random);
    }
    Add(&plan, KillAfterStep(step, random.Share()));
    Keep(plan);
  }

  void Repeat(const std::string& name) {
    const auto original =
        std::find_if(cases_.begin(), cases_.end(),
                     [&](const CasePlan& one) { return one.name() == name; });
    CasePlan plan = *original;
    plan.set_name(name + "_again");
    plan.set_repeats(name);
    plan.set_grid_point("");
    plan.set_purpose("the same checkpoint resumed once more");
    cases_.push_back(std::move(plan));
  }

  void EndOf(const std::string& name, size_t epoch) {
    const Epoch& one = epochs_[epoch];
    if (!one.end_known) {
      return LeaveOut(name, name, "its step events do not tell where it ends");
    }
    if (one.last >= LastKillable()) {
      return LeaveOut(name, name, "it ends with the run, or nearly so");
    }
    Seeded random = For(name);
    CasePlan plan =
        New(name, name, "resume from the checkpoint at the end of an epoch");
    uint64_t spacing = SaveSpacing(geometry_);
    if (!SavesAt(geometry_, one.last) && spacing > 1) {
      // A save cadence that hits the end; it must not change the training.
      while (one.last % spacing != 0) --spacing;
      plan.mutable_request()->set_save_every(spacing);
    }
    Add(&plan,
        KillAfterStep(BehindSave(one.last, spacing, &random), random.Share()));
    Keep(plan);

    // Killed in the last step of the epoch: the resumed run crosses the end.
    const std::string over = name + "_crossed";
    CasePlan crossed =
        New(over, "", "resume shortly before the end of an epoch");
    Seeded chance = For(over);
    Add(&crossed, KillAfterStep(one.last, chance.Share() * 0.5));
    Keep(crossed);
  }

  // Three kills in one epoch: what is wrong after a resume often shows only
  // when it was saved and resumed again.
  void SecondResume(size_t epoch) {
    for (size_t i = 0; i < epochs_.size(); ++i) {
      // The wanted epoch first, then any that is long enough.
      const size_t at = (epoch + i) % epochs_.size();
      const std::vector<uint64_t> saves = SavesInside(geometry_, epochs_[at]);
      if (saves.size() < 2) continue;
      return KillTwice(saves, SaveSpacing(geometry_), /*save_every=*/0);
    }
    // No epoch has two saves inside: ask for more of them.
    const Epoch& one = epochs_[epoch];
    const uint64_t spacing = (one.last - one.first + 1) / 4;
    std::vector<uint64_t> saves;
    for (uint64_t save = spacing; spacing > 0 && save < one.last;
         save += spacing) {
      if (save >= one.first) saves.push_back(save);
    }
    if (saves.size() >= 2) return KillTwice(saves, spacing, spacing);
    LeaveOut("second_resume", "second_resume",
             "the epochs are too short for two saves");
  }

  // Kills behind two of the saves, and once more behind the second.
  void KillTwice(const std::vector<uint64_t>& saves, uint64_t spacing,
                 uint64_t save_every) {
    const std::string name = "second_resume";
    Seeded random = For(name);
    CasePlan plan = New(name, name, "resume twice and more inside an epoch");
    if (save_every > 0) plan.mutable_request()->set_save_every(save_every);
    const size_t first = random.Between(0, saves.size() - 2);
    const size_t second = random.Between(first + 1, saves.size() - 1);
    Add(&plan, KillAfterStep(BehindSave(saves[first], spacing, &random),
                             random.Share()));
    const uint64_t step = BehindSave(saves[second], spacing, &random);
    Add(&plan, KillAfterStep(step, random.Share()));
    Add(&plan, KillAfterStep(step + 1, random.Share()));
    Keep(plan);
  }

  void MidAccumulation() {
    const uint64_t spacing = SaveSpacing(geometry_);
    const uint64_t last = std::max<uint64_t>(2, LastKillable());
    {
      const std::string name = "mid_accumulation";
      Seeded random = For(name);
      CasePlan plan = New(name, name, "SIGKILL between two micro-steps");
      uint64_t step = random.Between(2, last);
      if (spacing > 1 && step % spacing == 1) step = std::min(step + 1, last);
      if (HasHold(description_, v1::P2)) {
        Add(&plan,
            KillHeld(v1::P2, step, random.Between(0, kAccumulation - 2)));
      } else {
        Add(&plan, KillAfterStep(step, 0.25 + random.Share() * 0.5));
      }
      Keep(plan);
    }
    if (HasFeature(description_, "save_at_micro") && spacing > 0) {
      // A checkpoint inside a step, and a kill before the one at its boundary.
      const std::string name = "mid_accumulation_saved";
      Seeded random = For(name);
      CasePlan plan = New(name, "mid_accumulation",
                          "resume from a checkpoint between two micro-steps");
      const uint32_t micro = random.Between(1, kAccumulation - 1);
      v1::Setting* setting = plan.mutable_request()->add_settings();
      setting->set_name("save_at_micro");
      setting->set_value(absl::StrCat(micro));
      plan.mutable_request()->add_required_features("save_at_micro");
      const uint64_t step = Save(&random);
      if (HasHold(description_, v1::P2)) {
        Add(&plan, KillHeld(v1::P2, step, micro));
      } else {
        // Its save is one of the boundary before, inside the step.
        Add(&plan, KillAt(Kill::AFTER_COMMIT, step > 1 ? step - 1 : 1, 0));
      }
      Keep(plan);
    }
    const std::string name = "mid_accumulation_term";
    Seeded random = For(name);
    CasePlan plan = New(name, name, "SIGTERM between two micro-steps");
    Add(&plan, KillAfterStep(random.Between(2, last),
                             0.25 + random.Share() * 0.5, Kill::TERM));
    Keep(plan);
  }

  void AroundOverflow() {
    // As PlaceOverflows laid them: shortly before a save, and behind one.
    const auto& steps = profile_.request().inject_overflow();
    const uint64_t saved = steps.Get(0);
    const uint64_t repeated = steps.Get(steps.size() - 1);
    const std::vector<std::pair<std::string, uint64_t>> kills = {
        {"after_overflow", saved + 2},
        {"over_overflow", repeated + 1},
        {"before_overflow", repeated > 1 ? repeated - 1 : 1},
        {"at_overflow", repeated},
    };
    for (const auto& [name, step] : kills) {
      Seeded random = For(name);
      CasePlan plan =
          New(name, "around_overflow", "resume near a skipped step");
      const double phase = name == "over_overflow" ? random.Share() : 0;
      Add(&plan, KillAfterStep(std::min(step, LastKillable()), phase));
      Keep(plan);
    }
  }

  void BeforeFirstSave() {
    const std::string name = "before_first_save";
    const uint64_t first =
        geometry_.saves_size() > 0 ? geometry_.saves(0) : geometry_.steps();
    if (first < 2) return;
    Seeded random = For(name);
    CasePlan plan = New(name, "", "nothing was saved yet: start again");
    Add(&plan,
        KillAfterStep(random.Between(1, std::min(first - 1, LastKillable())),
                      random.Share() * 0.5));
    Keep(plan);
  }

  void HoldPoints() {
    for (const int number : description_.hold_points()) {
      const Point point = static_cast<Point>(number);
      if (point == v1::LOAD || point == v1::POINT_UNSPECIFIED) continue;
      const std::string name =
          absl::StrCat("held_", absl::AsciiStrToLower(v1::Point_Name(point)));
      Seeded random = For(name);
      CasePlan plan =
          New(name, "",
              absl::StrCat("SIGKILL while held at ", v1::Point_Name(point)));
      if (point >= v1::S1 && point <= v1::S8) {
        // Not the last save: a prune needs older ones, a resume later steps.
        const int saves = geometry_.saves_size();
        if (saves < 2) {
          LeaveOut(name, "", "the run has fewer than two saves");
          continue;
        }
        // Only the testee knows which save prunes: the first that does.
        Add(&plan,
            KillHeld(point, point == v1::S8
                                ? std::nullopt
                                : std::optional<uint64_t>(geometry_.saves(
                                      random.Between(0, saves - 2)))));
      } else if (point == v1::EVALUATION) {
        const std::vector<uint64_t> evaluations = Evaluations();
        if (evaluations.empty()) {
          LeaveOut(name, "", "the run evaluates nothing before its end");
          continue;
        }
        Add(&plan,
            KillHeld(point,
                     evaluations[random.Between(0, evaluations.size() - 1)]));
      } else {
        Add(&plan, KillHeld(point, random.Between(2, LastKillable())));
      }
      Keep(plan);
    }
  }

  // A kill of a resumed attempt while it loads, twice.
  void Loads() {
    if (geometry_.saves_size() == 0) return;
    const uint64_t spacing = SaveSpacing(geometry_);
    const bool held = HasHold(description_, v1::LOAD);
    for (int i = 0; i < 2; ++i) {
      const std::string name = absl::StrCat("in_load_", i + 1);
      Seeded random = For(name);
      CasePlan plan = New(name, "", "SIGKILL inside a load");
      const int index = random.Between(0, geometry_.saves_size() - 1);
      Add(&plan, KillAfterStep(
                     BehindSave(geometry_.saves(index), spacing, &random), 0));
      Kill kill = KillAt(Kill::IN_LOAD, 0, random.Share());
      kill.clear_step();
      Add(&plan, held && i == 0 ? KillHeld(v1::LOAD, std::nullopt) : kill);
      Keep(plan);
    }
  }

  void Saves() {
    if (geometry_.saves_size() == 0) return;
    for (int i = 0; i < 3; ++i) {
      const std::string name = absl::StrCat("in_save_", i + 1);
      Seeded random = For(name);
      CasePlan plan = New(name, "", "SIGKILL inside a save");
      Add(&plan, KillAt(Kill::IN_SAVE, Save(&random), random.Share()));
      Keep(plan);
    }
    for (int i = 0; i < 2; ++i) {
      const std::string name = absl::StrCat("after_commit_", i + 1);
      Seeded random = For(name);
      CasePlan plan =
          New(name, "", "SIGKILL right after a commit, where it may prune");
      Add(&plan,
          KillAt(Kill::AFTER_COMMIT, Save(&random), random.Share() * 0.5));
      Keep(plan);
    }
  }

  // Evaluations after which there is something left to resume.
  std::vector<uint64_t> Evaluations() const {
    std::vector<uint64_t> steps;
    for (uint64_t step : geometry_.evaluations()) {
      if (step <= LastKillable()) steps.push_back(step);
    }
    return steps;
  }

  // A save that is not the run's last.
  uint64_t Save(Seeded* random) const {
    const int last = std::max(0, geometry_.saves_size() - 2);
    return std::min(geometry_.saves(random->Between(0, last)), LastKillable());
  }

  void Terms() {
    const auto term = [this](const std::string& name,
                             const std::string& purpose,
                             std::function<Kill(Seeded*)> kill) {
      Seeded random = For(name);
      CasePlan plan = New(name, "", purpose);
      Add(&plan, kill(&random));
      Keep(plan);
    };
    term("term", "SIGTERM inside a step", [this](Seeded* random) {
      const uint64_t step = random->Between(1, LastKillable());
      return KillAfterStep(step, random->Share(), Kill::TERM);
    });
    if (geometry_.saves_size() > 0) {
      term("term_in_save", "SIGTERM inside a save", [this](Seeded* random) {
        const uint64_t step = Save(random);
        return KillAt(Kill::IN_SAVE, step, random->Share() * 0.5, Kill::TERM);
      });
    }
    if (!Evaluations().empty()) {
      term("term_in_evaluation", "SIGTERM inside an evaluation",
           [this](Seeded* random) {
             const std::vector<uint64_t> evaluations = Evaluations();
             return KillAt(
                 Kill::IN_EVALUATION,
                 evaluations[random->Between(0, evaluations.size() - 1)],
                 random->Share(), Kill::TERM);
           });
    }
  }

  void Chain() {
    const std::string name = "chain";
    Seeded random = For(name);
    CasePlan plan = New(name, "", "one kill after another");
    const uint64_t reach = std::max<uint64_t>(1, LastKillable() / 5);
    uint64_t step = 0;
    for (int i = 0; i < 5 && step < LastKillable(); ++i) {
      step = std::min(step + random.Between(1, reach), LastKillable());
      Add(&plan, KillAfterStep(step, random.Share(),
                               i == 2 ? Kill::TERM : Kill::KILL));
    }
    Keep(plan);
  }

  const Description& description_;
  const uint64_t seed_;
  const ProfilePlan& profile_;
  const Geometry& geometry_;
  const std::vector<Epoch> epochs_;
  std::vector<CasePlan> cases_;
  std::vector<v1::LeftOut> left_out_;
};

uint64_t KillsOf(const CasePlan& plan) {
  // The shared attempts of a repetition are run once.
  return plan.repeats().empty() && plan.attempts_size() > 0
             ? plan.attempts_size() - 1
             : 0;
}

}  // namespace

std::vector<ProfilePlan> PlanProfiles(const Description& description,
                                      const RunRequest& base) {
  std::vector<ProfilePlan> profiles;
  const auto add = [&](const std::string& name, const std::string& purpose) {
    ProfilePlan profile;
    profile.set_name(name);
    profile.set_purpose(purpose);
    *profile.mutable_request() = base;
    profiles.push_back(profile);
    return profiles.back().mutable_request();
  };
  add("default", "the run as it was asked for");
  if (base.accumulation() > 1 || base.inject_overflow_size() > 0) {
    return profiles;
  }
  if (HasFeature(description, "accumulation")) {
    add("accumulation", "several micro-steps make a step")
        ->set_accumulation(kAccumulation);
    profiles.back().mutable_request()->add_required_features("accumulation");
  }
  if (HasFeature(description, "inject_overflow")) {
    add("overflow", "some steps overflow and are skipped")
        ->add_required_features("inject_overflow");
  }
  return profiles;
}

void PlaceOverflows(const Geometry& geometry, ProfilePlan* overflow) {
  RunRequest* request = overflow->mutable_request();
  request->clear_inject_overflow();
  const uint64_t spacing = std::max<uint64_t>(4, SaveSpacing(geometry));
  // With few saves, a third of the run stands for one.
  const uint64_t save =
      geometry.saves_size() > 1 ? geometry.saves(1) : geometry.steps() / 3;
  const uint64_t first = save > 2 ? save - 1 : 1;
  const uint64_t second =
      std::min(save + spacing + 2,
               geometry.steps() > 2 ? geometry.steps() - 2 : first + 1);
  request->add_inject_overflow(first);
  if (second > first) request->add_inject_overflow(second);
}

std::vector<CasePlan> PlanBaselines(const Description& description,
                                    const ProfilePlan& profile) {
  std::vector<CasePlan> plans;
  const auto add = [&](const std::string& name, const std::string& purpose) {
    CasePlan plan;
    plan.set_name(name);
    plan.set_profile(profile.name());
    plan.set_purpose(purpose);
    plan.set_baseline(true);
    *plan.mutable_request() = profile.request();
    plan.add_attempts();
    plans.push_back(plan);
  };
  add("baseline-1", "the uninterrupted run");
  add("baseline-2", "the uninterrupted run once more");
  if (description.determinism() == v1::ROUNDING ||
      description.determinism() == v1::LOOSE) {
    add("baseline-3", "the uninterrupted run a third time");
  }
  if (profile.name() == "default") {
    add("baseline-other-seed", "the uninterrupted run from another seed");
    RunRequest* request = plans.back().mutable_request();
    request->set_seed(request->seed() + 1000003);
  }
  return plans;
}

void PlanCases(const Description& description, const PlanBudget& budget,
               std::vector<ProfilePlan>* profiles) {
  uint64_t left = budget.kills;
  const auto spend = [&left](ProfilePlan* profile,
                             const std::vector<CasePlan>& cases) {
    for (const CasePlan& one : cases) {
      const bool original_runs =
          one.repeats().empty() ||
          std::any_of(profile->cases().begin(), profile->cases().end(),
                      [&one](const CasePlan& other) {
                        return other.name() == one.repeats();
                      });
      if (KillsOf(one) <= left && original_runs) {
        left -= KillsOf(one);
        *profile->add_cases() = one;
        continue;
      }
      v1::LeftOut* out = profile->add_left_out();
      out->set_case_name(one.name());
      out->set_grid_point(one.grid_point());
      out->set_reason("the number of kills was used up");
    }
  };
  std::vector<std::pair<ProfilePlan*, ProfilePlanner>> planners;
  for (ProfilePlan& profile : *profiles) {
    profile.clear_cases();
    profile.clear_left_out();
    if (profile.geometry().steps() < 2) continue;
    planners.emplace_back(&profile,
                          ProfilePlanner(description, budget.seed, &profile));
  }
  for (auto& [profile, planner] : planners) spend(profile, planner.Grid());
  for (auto& [profile, planner] : planners) {
    // Points inside a step or a save are the same in every profile.
    if (profile->name() == "default") spend(profile, planner.Points());
    for (const v1::LeftOut& out : planner.TakeLeftOut()) {
      *profile->add_left_out() = out;
    }
  }
  for (int number = 1; left > 0 && !planners.empty(); ++number) {
    auto& [profile, planner] = planners[(number - 1) % planners.size()];
    const CasePlan one = planner.Random(number);
    // A chain that is longer than what is left ends the plan.
    if (KillsOf(one) > left) break;
    spend(profile, {one});
  }
}

std::vector<const CasePlan*> RunningOrder(
    const std::vector<ProfilePlan>& profiles) {
  std::vector<const CasePlan*> order;
  const auto rank = [](const CasePlan& one) {
    if (!one.grid_point().empty()) return 0;
    return absl::StartsWith(one.name(), "random-") ? 2 : 1;
  };
  for (int round = 0; round < 3; ++round) {
    for (const ProfilePlan& profile : profiles) {
      for (const CasePlan& one : profile.cases()) {
        if (rank(one) != round || !one.repeats().empty()) continue;
        order.push_back(&one);
        // What resumes its last checkpoint again, while that is kept.
        for (const CasePlan& again : profile.cases()) {
          if (again.repeats() == one.name()) order.push_back(&again);
        }
      }
    }
  }
  return order;
}

}  // namespace reprise::conformance
