#include "conformance/runner/case_runner.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/json_file.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

using v1::CasePlan;
using v1::Kill;

std::string KeyOf(const std::string& profile, const std::string& name) {
  return absl::StrCat(profile, "/", name);
}

absl::Status MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot make ", path, ": ", error.message()));
}

bool AllClaimed(const v1::Description& description, const RunRequest& request) {
  return std::all_of(
      request.required_features().begin(), request.required_features().end(),
      [&](const std::string& name) { return HasFeature(description, name); });
}

constexpr int kTries = 4;

// The run ended before the kill that was planned for it could end it.
bool CameTooLate(const v1::AttemptRecord& record, bool last) {
  return !last && record.outcome() == v1::OUTCOME_FINISHED;
}

// The kills fell so near the end that the attempts after them had no step left.
bool NothingWasResumed(const CaseResult& result) {
  if (!result.record.complete() || result.attempts.size() < 2) return false;
  for (size_t i = 1; i < result.attempts.size(); ++i) {
    for (const Event& event : result.attempts[i].events) {
      if (event.has_step()) return false;
    }
  }
  return true;
}

// Moves all kills of a plan forward by a sixteenth of the run.
void KillEarlier(const v1::Geometry& geometry, CasePlan* plan) {
  const uint64_t shift = std::max<uint64_t>(1, geometry.steps() / 16);
  for (v1::AttemptPlan& attempt : *plan->mutable_attempts()) {
    if (!attempt.has_kill()) continue;
    Kill* kill = attempt.mutable_kill();
    if (kill->step() > shift) kill->set_step(kill->step() - shift);
    kill->set_phase(kill->phase() / 2);
  }
}

// Why the case cannot go on after this attempt; empty when it can. A testee
// that refuses a checkpoint which was edited on purpose has done what it
// should.
std::string Hindrance(const CasePlan& plan, const v1::AttemptRecord& record,
                      int number, bool last) {
  const bool refused_edit = last && !plan.control().empty() &&
                            record.outcome() == v1::OUTCOME_CHECKPOINT_REJECTED;
  if (!IsGood(record.outcome()) && !refused_edit) {
    return absl::StrCat("attempt ", number, ": ", OutcomeText(record.outcome()),
                        ": ", record.detail());
  }
  if (!CameTooLate(record, last)) return "";
  return absl::StrCat("attempt ", number,
                      ": the run ended before the planned kill",
                      record.kill_landed() ? " took effect" : "");
}

}  // namespace

AttemptOptions OptionsOf(const CaseSettings& settings, const CasePlace& place,
                         const AttemptPaths& paths) {
  AttemptOptions options;
  options.command = settings.testee.command;
  options.command.insert(options.command.end(),
                         {"run", "--request=" + paths.request});
  options.working_folder = settings.testee.working_folder.empty()
                               ? place.working_folder()
                               : settings.testee.working_folder;
  options.environment =
      TesteeEnvironment(settings.testee.pass, place.home(), place.temporary());
  options.events_path = paths.events;
  options.stdout_path = paths.out;
  options.stderr_path = paths.err;
  options.deadlines = settings.deadlines;
  options.limits = settings.limits;
  options.cancelled = settings.cancelled;
  return options;
}

CaseRunner::CaseRunner(CaseSettings settings)
    : settings_(std::move(settings)) {}

v1::CaseRecord NotRunRecord(const CasePlan& plan, const std::string& reason) {
  v1::CaseRecord record;
  record.set_name(plan.name());
  record.set_profile(plan.profile());
  record.set_not_run(true);
  record.set_reason(reason);
  return record;
}

std::string CaseRunner::RecordsFolder(const CasePlan& plan) const {
  return CaseFolder(settings_.dir, plan.profile(), plan.name());
}

std::string CaseRunner::WorkFolder(const CasePlan& plan) const {
  return WorkFolderOfCase(settings_.dir, plan.profile(), plan.name());
}

RunRequest CaseRunner::RequestFor(const CasePlan& plan, int number,
                                  const CasePlace& place,
                                  const std::string& events) {
  RunRequest request = plan.request();
  request.set_protocol(std::string(kProtocolVersion));
  request.set_run_folder(place.run_folder());
  request.set_events(events);
  // As people start trainers on machines that die: the same words every time.
  request.set_resume(RunRequest::AUTO);
  request.clear_hold_at();
  const Kill& kill = plan.attempts(number - 1).kill();
  if (kill.where() == Kill::AT_HOLD) *request.add_hold_at() = kill.hold();
  return request;
}

absl::Status CaseRunner::RunOne(const CasePlan& plan,
                                const v1::Geometry& geometry, int number,
                                CasePlace* place, AttemptResult* result) {
  const std::string name = absl::StrCat("attempt-", number);
  const AttemptPaths paths = PathsOfAttempt(RecordsFolder(plan), number);
  absl::Status status = MakeFolders(paths.folder);
  if (!status.ok()) return status;
  status = place->Prepare(number, HasFeature(settings_.description, "moves"),
                          {name + "/events.jsonl", name + "/stdout",
                           name + "/stderr", name + "/request.json"});
  if (!status.ok()) return status;
  const RunRequest request = RequestFor(plan, number, *place, paths.events);
  status = WriteJson(request, paths.request);
  if (!status.ok()) return status;

  AttemptOptions options = OptionsOf(settings_, *place, paths);
  options.kill = plan.attempts(number - 1).kill();
  options.means = geometry;
  options.all_features_claimed = AllClaimed(settings_.description, request);
  if (settings_.on_event) {
    options.on_event = [this, number](const Event& event) {
      settings_.on_event(number, event);
    };
  }
  *result = RunAttempt(options);

  v1::AttemptRecord& record = result->record;
  record.set_run_folder(place->run_folder());
  const CasePlace::Changes changes = place->WhatChanged();
  for (const std::string& path : changes.stray) record.add_stray_files(path);
  for (const std::string& path : changes.outside) {
    record.add_outside_files(path);
  }
  if (IsGood(record.outcome()) && !changes.outside.empty()) {
    record.set_outcome(v1::OUTCOME_WROTE_OUTSIDE);
    record.set_detail(absl::StrCat("it had no business with these: ",
                                   absl::StrJoin(changes.outside, ", ")));
  }
  return WriteJson(record, paths.exit);
}

absl::Status CaseRunner::KeepFork(const CasePlan& plan, const CasePlace& place,
                                  int next_attempt) {
  const std::string root =
      absl::StrCat(WorkFolder(plan), ".fork-", forks_.size());
  auto copy = CasePlace::Make(root, "");
  if (!copy.ok()) return copy.status();
  absl::Status status = (*copy)->CopyRunFolderFrom(place);
  if (!status.ok()) return status;
  Fork& fork = forks_[KeyOf(plan.profile(), plan.name())];
  fork.place = *std::move(copy);
  fork.next_attempt = next_attempt;
  return absl::OkStatus();
}

absl::Status CaseRunner::RunAttempts(const CasePlan& plan,
                                     const v1::Geometry& geometry, int first,
                                     CasePlace* place, bool keep_fork,
                                     CaseResult* result) {
  const int count = plan.attempts_size();
  for (int number = first; number <= count; ++number) {
    if (keep_fork && number == count) {
      absl::Status status = KeepFork(plan, *place, number);
      if (!status.ok()) return status;
    }
    AttemptResult attempt;
    absl::Status status = RunOne(plan, geometry, number, place, &attempt);
    result->record.add_outcomes(attempt.record.outcome());
    result->record.set_reason(
        Hindrance(plan, attempt.record, number, number == count));
    result->attempts.push_back(std::move(attempt));
    if (!status.ok()) return status;
    if (!result->record.reason().empty()) return absl::OkStatus();
  }
  result->record.set_complete(true);
  return absl::OkStatus();
}

void CaseRunner::Finish(const CasePlan& plan, const absl::Status& status,
                        CasePlace* place, CaseResult* result) {
  v1::CaseRecord& record = result->record;
  record.set_name(plan.name());
  record.set_profile(plan.profile());
  if (!status.ok()) {
    record.set_complete(false);
    record.add_outcomes(v1::OUTCOME_HARNESS_ERROR);
    record.set_reason(std::string(status.message()));
  }
  const bool keep =
      settings_.keep == KeepRunFolders::kAlways ||
      (settings_.keep == KeepRunFolders::kOfBadCases && !record.complete());
  if (place != nullptr && !keep) place->Remove();
}

CaseResult CaseRunner::Run(const CasePlan& plan, const v1::Geometry& geometry,
                           bool keep_fork) {
  CasePlan now = plan;
  for (int tries = 1;; ++tries) {
    bool missed = false;
    CaseResult result = RunOnce(now, geometry, keep_fork, &missed);
    result.record.set_tries(tries);
    if (!missed || tries == kTries) return result;
    DropFork(plan.profile(), plan.name());
    std::error_code ignored;
    fs::remove_all(WorkFolder(plan), ignored);
    fs::remove_all(RecordsFolder(plan), ignored);
    if (tries >= 2) KillEarlier(geometry, &now);
  }
}

CaseResult CaseRunner::RunOnce(const CasePlan& plan,
                               const v1::Geometry& geometry, bool keep_fork,
                               bool* missed) {
  CaseResult result;
  const absl::Time began = absl::Now();
  std::unique_ptr<CasePlace> place;
  absl::Status status = MakeRecords(plan);
  if (status.ok()) status = MakePlace(plan, &place);
  if (status.ok()) {
    status = RunAttempts(plan, geometry, 1, place.get(), keep_fork, &result);
  }
  *missed = status.ok() && !result.attempts.empty() &&
            (CameTooLate(result.attempts.back().record,
                         result.attempts.size() == plan.attempts_size()) ||
             NothingWasResumed(result));
  Finish(plan, status, place.get(), &result);
  result.record.set_seconds(absl::ToDoubleSeconds(absl::Now() - began));
  return result;
}

absl::Status CaseRunner::MakeRecords(const CasePlan& plan) {
  const std::string folder = RecordsFolder(plan);
  absl::Status status = MakeFolders(folder);
  if (status.ok()) status = WriteJson(plan, folder + "/plan.json");
  return status;
}

absl::Status CaseRunner::MakePlace(const CasePlan& plan,
                                   std::unique_ptr<CasePlace>* place) {
  auto made = CasePlace::Make(WorkFolder(plan), RecordsFolder(plan));
  if (made.ok()) *place = *std::move(made);
  return made.status();
}

absl::Status CaseRunner::CopyRecords(const CasePlan& plan) {
  const std::string from =
      CaseFolder(settings_.dir, plan.profile(), plan.repeats());
  const std::string to = RecordsFolder(plan);
  for (int number = 1; number < plan.attempts_size(); ++number) {
    std::error_code error;
    fs::copy(PathsOfAttempt(from, number).folder,
             PathsOfAttempt(to, number).folder, fs::copy_options::recursive,
             error);
    if (error) {
      return absl::InternalError(absl::StrCat("cannot copy the records of ",
                                              from, ": ", error.message()));
    }
  }
  return absl::OkStatus();
}

CaseResult CaseRunner::RunFork(
    const CasePlan& plan, const v1::Geometry& geometry,
    const std::function<absl::Status(const std::string&)>& edit) {
  CaseResult result;
  const absl::Time began = absl::Now();
  const auto fork = forks_.find(KeyOf(plan.profile(), plan.repeats()));
  if (fork == forks_.end()) {
    result.record = NotRunRecord(
        plan, absl::StrCat("the case that it repeats, ", plan.repeats(),
                           ", did not come to its last attempt"));
    return result;
  }
  std::unique_ptr<CasePlace> place;
  absl::Status status = MakeRecords(plan);
  if (status.ok()) status = CopyRecords(plan);
  if (status.ok()) status = MakePlace(plan, &place);
  if (status.ok()) status = place->CopyRunFolderFrom(*fork->second.place);
  if (status.ok() && edit) status = edit(place->run_folder());
  if (edit && absl::IsNotFound(status)) {
    // There is nothing to lose, so there is nothing to show.
    result.record = NotRunRecord(plan, std::string(status.message()));
    place->Remove();
    return result;
  }
  if (status.ok()) {
    status = RunAttempts(plan, geometry, fork->second.next_attempt, place.get(),
                         /*keep_fork=*/false, &result);
  }
  Finish(plan, status, place.get(), &result);
  result.record.set_seconds(absl::ToDoubleSeconds(absl::Now() - began));
  return result;
}

void CaseRunner::DropFork(const std::string& profile, const std::string& name) {
  const auto fork = forks_.find(KeyOf(profile, name));
  if (fork == forks_.end()) return;
  fork->second.place->Remove();
  forks_.erase(fork);
}

}  // namespace reprise::conformance
