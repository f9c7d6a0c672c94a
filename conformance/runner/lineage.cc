#include "conformance/runner/lineage.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/runner/json_file.h"

namespace reprise::conformance {

std::string CaseFolder(absl::string_view dir, absl::string_view profile,
                       absl::string_view case_name) {
  return absl::StrCat(dir, "/", profile, "/", case_name);
}

AttemptPaths PathsOfAttempt(const std::string& case_folder, int number) {
  const std::string folder = absl::StrCat(case_folder, "/attempt-", number);
  return {folder,
          folder + "/request.json",
          folder + "/events.jsonl",
          folder + "/stdout",
          folder + "/stderr",
          folder + "/exit"};
}

std::string WorkFolder(absl::string_view dir) {
  return absl::StrCat(dir, "/work");
}

std::string WorkFolderOfCase(absl::string_view dir, absl::string_view profile,
                             absl::string_view case_name) {
  return CaseFolder(WorkFolder(dir), profile, case_name);
}

absl::StatusOr<CaseFiles> ReadCase(const std::string& case_folder) {
  CaseFiles files;
  absl::Status status = ReadJson(case_folder + "/plan.json", &files.plan);
  if (!status.ok()) return status;
  for (int number = 1;; ++number) {
    const AttemptPaths paths = PathsOfAttempt(case_folder, number);
    // The record is written last: an attempt without one never ended.
    if (access(paths.exit.c_str(), F_OK) != 0) break;
    AttemptFiles attempt;
    status = ReadJson(paths.request, &attempt.request);
    if (status.ok()) status = ReadJson(paths.exit, &attempt.record);
    if (!status.ok()) return status;
    absl::StatusOr<EventLog> log = ReadEvents(paths.events);
    if (log.ok()) attempt.log = *std::move(log);
    files.attempts.push_back(std::move(attempt));
  }
  return files;
}

// What was planned for a case that was not run.
static v1::CasePlan PlanOf(const v1::CampaignPlan& campaign,
                           const v1::CaseRecord& record) {
  for (const v1::ProfilePlan& profile : campaign.profiles()) {
    for (const v1::CasePlan& plan : profile.cases()) {
      if (plan.profile() == record.profile() && plan.name() == record.name()) {
        return plan;
      }
    }
  }
  // A baseline, or a case that nobody planned.
  v1::CasePlan plan;
  plan.set_profile(record.profile());
  plan.set_name(record.name());
  return plan;
}

absl::StatusOr<CampaignFiles> ReadCampaign(const std::string& dir) {
  CampaignFiles files;
  absl::Status status = ReadJson(dir + "/campaign.json", &files.record);
  if (!status.ok()) return status;
  // A testee that could not be described has neither.
  if (files.record.describe().outcome() != v1::OUTCOME_FINISHED) return files;
  status = ReadJson(dir + "/description.json", &files.description);
  if (status.ok()) status = ReadJson(dir + "/plan.json", &files.plan);
  if (!status.ok()) return status;
  for (const v1::CaseRecord& record : files.record.cases()) {
    CaseFiles one;
    if (record.not_run()) {
      one.plan = PlanOf(files.plan, record);
    } else {
      absl::StatusOr<CaseFiles> read =
          ReadCase(CaseFolder(dir, record.profile(), record.name()));
      if (!read.ok()) return read.status();
      one = *std::move(read);
    }
    one.record = record;
    files.cases.push_back(std::move(one));
  }
  return files;
}

}  // namespace reprise::conformance
