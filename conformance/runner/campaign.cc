// One file, though a long one: the order in which the parts of a campaign
// follow each other, top to bottom; the parts themselves are elsewhere.
#include "conformance/runner/campaign.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "conformance/runner/command_line.h"
#include "conformance/runner/geometry.h"
#include "conformance/runner/json_file.h"
#include "conformance/runner/lineage.h"
#include "conformance/runner/plan.h"
#include "conformance/runner/probes.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

using v1::CasePlan;
using v1::CaseRecord;
using v1::ProfilePlan;

absl::Status CheckOptions(const CampaignOptions& options) {
  if (options.testee.command.empty()) {
    return absl::InvalidArgumentError("no command of a testee was given");
  }
  if (!absl::StartsWith(options.out, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the folder for the records must be an absolute path, but "
                     "is \"",
                     options.out, "\""));
  }
  for (const Control& control : options.controls) {
    if (control.name.empty() || control.name[0] == '.' ||
        control.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                       "0123456789_.-") != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the control's name \"", control.name, "\" is not of [a-z0-9_.-]"));
    }
  }
  std::error_code error;
  if (fs::exists(options.out, error) && !fs::is_empty(options.out, error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        options.out, " is not empty; give a new folder for the records"));
  }
  fs::create_directories(options.out, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot make ", options.out, ": ", error.message()));
  }
  return absl::OkStatus();
}

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options),
        began_(absl::Now()),
        deadline_(began_ + options.time),
        progress_(options.progress) {}

  absl::StatusOr<CampaignResult> Run() {
    result_.folder = options_.out;
    absl::Status status = DescribeTestee();
    if (status.ok() && Described()) status = RunAll();
    Conclude();
    status.Update(WriteJson(result_.record, options_.out + "/campaign.json"));
    // Gone when every run folder in it was.
    RemoveEmptyFolders(WorkFolder(options_.out));
    if (!status.ok()) return status;
    return std::move(result_);
  }

 private:
  bool Described() const {
    return result_.record.describe().outcome() == v1::OUTCOME_FINISHED;
  }

  bool TimeIsOver() const { return absl::Now() >= deadline_; }
  bool Stopped() const {
    return TimeIsOver() || (options_.stopped && options_.stopped());
  }

  absl::Status DescribeTestee() {
    const DescribeResult described =
        Describe(options_.testee, options_.out + "/describe",
                 options_.deadlines, [this] { return Stopped(); });
    *result_.record.mutable_describe() = described.record;
    if (!Described()) {
      progress_.Print(
          absl::StrCat("describe: ", OutcomeText(described.record.outcome()),
                       ": ", described.record.detail()));
      return absl::OkStatus();
    }
    result_.description = described.description;
    return WriteJson(result_.description, options_.out + "/description.json");
  }

  absl::Status RunAll() {
    CaseSettings settings;
    settings.testee = options_.testee;
    settings.description = result_.description;
    settings.dir = options_.out;
    settings.deadlines = options_.deadlines;
    settings.limits = options_.limits;
    settings.keep = options_.keep;
    settings.cancelled = [this] { return Stopped(); };
    settings.on_event = [this](int number, const Event& event) {
      if (event.has_step()) {
        progress_.Attempt(number, event.step().step(), steps_);
      }
    };
    runner_ = std::make_unique<CaseRunner>(settings);

    RunRequest base = options_.base;
    if (!base.has_seed()) base.set_seed(1);
    settings.on_event = nullptr;
    if (options_.probe) Ask(settings, base);

    v1::CampaignPlan& plan = result_.plan;
    plan.set_seed(options_.seed);
    plan.set_kills(options_.kills);
    for (const std::string& word : options_.testee.command) {
      plan.add_command(word);
    }
    plan.set_replay(Replay(""));

    std::vector<ProfilePlan> profiles = PlanProfiles(result_.description, base);
    RunBaselines(&profiles);
    // A case is the same whatever the budget: a chosen one is always planned.
    const uint64_t kills = options_.only.empty()
                               ? options_.kills
                               : std::max<uint64_t>(options_.kills, 2000);
    PlanCases(result_.description, {options_.seed, kills}, &profiles);
    AddControls(&profiles);
    for (const ProfilePlan& profile : profiles) *plan.add_profiles() = profile;
    absl::Status status = WriteJson(plan, options_.out + "/plan.json");
    if (!status.ok()) return status;
    RunCases(profiles);
    return absl::OkStatus();
  }

  void Ask(const CaseSettings& settings, const RunRequest& base) {
    for (const v1::ProbeRecord& probe : RunProbes(settings, base)) {
      *result_.record.add_probes() = probe;
      if (!probe.passed()) {
        progress_.Print(
            absl::StrCat("probe ", probe.name(), ": ", probe.detail()));
      }
    }
  }

  // The records say what was not run and why; a profile without a baseline that
  // finished keeps an empty geometry, and so gets no cases.
  void RunBaselines(std::vector<ProfilePlan>* profiles) {
    for (ProfilePlan& profile : *profiles) {
      if (!WantedProfile(profile.name())) continue;
      if (profile.name() == "overflow") {
        PlaceOverflows(profiles->front().geometry(), &profile);
      }
      bool first = true;
      for (const CasePlan& plan : PlanBaselines(result_.description, profile)) {
        if (!first && profile.geometry().steps() == 0) {
          NotRun(plan, "the first baseline did not finish");
          continue;
        }
        const CaseResult done = RunCase(plan, profile.geometry());
        if (first && done.record.complete()) {
          *profile.mutable_geometry() = MeasureGeometry(done.attempts[0]);
        }
        first = false;
      }
      if (profile.geometry().steps() == 0 && &profile == &profiles->front()) {
        // Nothing is known of what kills could mean.
        break;
      }
    }
  }

  bool WantedProfile(const std::string& name) const {
    // Overflows are placed on the geometry of the default profile.
    return options_.only.empty() || name == "default" ||
           std::any_of(options_.only.begin(), options_.only.end(),
                       [&name](const std::string& wanted) {
                         return absl::StartsWith(wanted, name + "/");
                       });
  }

  bool Wanted(const CasePlan& plan) const {
    if (options_.only.empty()) return true;
    const auto listed = [this](const std::string& name) {
      return std::find(options_.only.begin(), options_.only.end(), name) !=
             options_.only.end();
    };
    return listed(absl::StrCat(plan.profile(), "/", plan.name()));
  }

  void AddControls(std::vector<ProfilePlan>* profiles) {
    for (ProfilePlan& profile : *profiles) {
      if (profile.name() != "default") continue;
      for (const CasePlan& original : profile.cases()) {
        if (original.name() != options_.controlled_case) continue;
        // A copy: adding cases moves the original.
        const CasePlan base = original;
        for (const Control& control : options_.controls) {
          CasePlan* plan = profile.add_cases();
          *plan = base;
          plan->set_name("control-" + control.name);
          plan->set_repeats(options_.controlled_case);
          plan->set_control(control.name);
          plan->set_grid_point("");
          plan->set_purpose("a checkpoint edited on purpose");
        }
        break;
      }
    }
  }

  void RunCases(const std::vector<ProfilePlan>& profiles) {
    std::vector<const CasePlan*> order;
    for (const CasePlan* plan : RunningOrder(profiles)) {
      if (Wanted(*plan) || IsRepeated(profiles, *plan)) order.push_back(plan);
    }
    std::map<std::string, const v1::Geometry*> geometries;
    for (const ProfilePlan& profile : profiles) {
      geometries[profile.name()] = &profile.geometry();
    }
    for (const std::string& wanted : options_.only) {
      const bool planned = std::any_of(
          order.begin(), order.end(), [&wanted](const CasePlan* plan) {
            return absl::StrCat(plan->profile(), "/", plan->name()) == wanted;
          });
      if (planned) continue;
      CasePlan unknown;
      const std::vector<std::string> parts =
          absl::StrSplit(wanted, absl::MaxSplits('/', 1));
      unknown.set_profile(parts[0]);
      unknown.set_name(parts.size() > 1 ? parts[1] : "");
      NotRun(unknown, "there is no such case");
    }
    progress_.SetCases(result_.record.cases_size() + order.size());
    seconds_left_ = 0;
    for (const CasePlan* plan : order) {
      seconds_left_ += Estimate(*plan, *geometries[plan->profile()]);
    }
    for (const CasePlan* plan : order) {
      const v1::Geometry& geometry = *geometries[plan->profile()];
      RunCase(*plan, geometry, IsRepeated(profiles, *plan));
      seconds_left_ -= Estimate(*plan, geometry);
    }
    for (const CasePlan* plan : order) {
      runner_->DropFork(plan->profile(), plan->name());
    }
  }

  // Whether a wanted case repeats this one.
  bool IsRepeated(const std::vector<ProfilePlan>& profiles,
                  const CasePlan& plan) const {
    for (const ProfilePlan& profile : profiles) {
      for (const CasePlan& other : profile.cases()) {
        if (other.profile() == plan.profile() &&
            other.repeats() == plan.name() && Wanted(other)) {
          return true;
        }
      }
    }
    return false;
  }

  // Seconds that a case may take: one whole run and a start for each attempt.
  static double Estimate(const CasePlan& plan, const v1::Geometry& geometry) {
    const double starts = plan.repeats().empty() ? plan.attempts_size() : 1;
    return geometry.seconds() + starts * (geometry.start_seconds() + 0.1);
  }

  void NotRun(const CasePlan& plan, const std::string& reason) {
    CaseRecord* record = result_.record.add_cases();
    *record = NotRunRecord(plan, reason);
    record->set_replay(Replay(absl::StrCat(plan.profile(), "/", plan.name())));
  }

  CaseResult RunCase(const CasePlan& plan, const v1::Geometry& geometry,
                     bool keep_fork = false) {
    const std::string name = absl::StrCat(plan.profile(), "/", plan.name());
    if (Stopped()) {
      result_.record.set_stopped_early(true);
      NotRun(plan,
             TimeIsOver() ? "the time was over" : "the campaign was stopped");
      return CaseResult();
    }
    steps_ = geometry.steps();
    progress_.BeginCase(name, absl::Seconds(seconds_left_));
    CaseResult done;
    if (plan.repeats().empty()) {
      done = runner_->Run(plan, geometry, keep_fork);
    } else {
      done = runner_->RunFork(plan, geometry, EditOf(plan.control()));
    }
    done.record.set_replay(Replay(name));
    progress_.EndCase(
        name, done.record.complete() ? "as planned" : done.record.reason());
    *result_.record.add_cases() = done.record;
    return done;
  }

  std::function<absl::Status(const std::string&)> EditOf(
      const std::string& control) const {
    for (const Control& one : options_.controls) {
      if (one.name == control) return one.edit;
    }
    return nullptr;
  }

  // One command line that runs the campaign, or one case of it, again.
  std::string Replay(const std::string& only) const {
    std::vector<std::string> words = options_.own_command;
    words.push_back(absl::StrCat("--seed=", options_.seed));
    words.push_back(absl::StrCat("--kills=", options_.kills));
    const RunRequest& base = options_.base;
    if (!base.workload().empty()) {
      words.push_back("--workload=" + base.workload());
    }
    if (base.has_seed()) {
      words.push_back(absl::StrCat("--run_seed=", base.seed()));
    }
    if (base.has_steps()) {
      words.push_back(absl::StrCat("--steps=", base.steps()));
    }
    if (base.has_save_every()) {
      words.push_back(absl::StrCat("--save_every=", base.save_every()));
    }
    if (!base.precision().empty()) {
      words.push_back("--precision=" + base.precision());
    }
    for (const v1::Setting& setting : base.settings()) {
      words.push_back(
          absl::StrCat("--set=", setting.name(), "=", setting.value()));
    }
    if (!options_.testee.pass.empty()) {
      words.push_back("--pass_env=" + absl::StrJoin(options_.testee.pass, ","));
    }
    if (!options_.testee.working_folder.empty()) {
      words.push_back("--working_folder=" + options_.testee.working_folder);
    }
    if (!only.empty()) words.push_back("--only=" + only);
    words.push_back("--testee=" + JoinCommand(options_.testee.command));
    return JoinCommand(words);
  }

  void Conclude() {
    result_.record.set_seconds(absl::ToDoubleSeconds(absl::Now() - began_));
    const bool cancelled = std::any_of(
        result_.record.cases().begin(), result_.record.cases().end(),
        [](const CaseRecord& one) {
          return std::find(one.outcomes().begin(), one.outcomes().end(),
                           v1::OUTCOME_CANCELLED) != one.outcomes().end();
        });
    if (cancelled ||
        result_.record.describe().outcome() == v1::OUTCOME_CANCELLED) {
      result_.record.set_stopped_early(true);
    }
    if (result_.record.stopped_early()) {
      result_.record.set_reason(TimeIsOver() ? "the time was over"
                                             : "stopped by a person");
    }
  }

  static void RemoveEmptyFolders(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(path, error))) return;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      // Profiles only: what is below belongs to cases that were kept.
      fs::remove(entry.path(), error);
    }
    fs::remove(path, error);
  }

  const CampaignOptions& options_;
  const absl::Time began_;
  const absl::Time deadline_;
  CampaignProgress progress_;
  CampaignResult result_;
  std::unique_ptr<CaseRunner> runner_;
  uint64_t steps_ = 0;
  double seconds_left_ = 0;
};

}  // namespace

bool CampaignResult::complete() const {
  bool killed = false;
  for (const v1::ProbeRecord& probe : record.probes()) {
    if (!probe.passed()) return false;
  }
  for (const CaseRecord& one : record.cases()) {
    if (!one.complete()) return false;
    killed = killed || one.outcomes_size() > 1;
  }
  return killed && !record.stopped_early();
}

absl::StatusOr<CampaignResult> RunCampaign(const CampaignOptions& options) {
  absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  return Campaign(options).Run();
}

}  // namespace reprise::conformance
