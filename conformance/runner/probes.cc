#include "conformance/runner/probes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/runner/json_file.h"
#include "conformance/runner/lineage.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

using v1::ProbeRecord;

constexpr char kNobodyHasThis[] = "reprise-probe-nobody-has-this";

// The attempts of one probe, in one run folder.
class Probe {
 public:
  Probe(const CaseSettings& settings, const std::string& name)
      : settings_(settings), folder_(CaseFolder(settings.dir, "probes", name)) {
    std::error_code error;
    fs::create_directories(folder_, error);
    auto place = CasePlace::Make(WorkFolderOfCase(settings.dir, "probes", name),
                                 folder_);
    if (place.ok()) place_ = *std::move(place);
    record_.set_name(name);
  }
  ~Probe() {
    if (place_ != nullptr) place_->Remove();
  }

  // `unknown_field`: adds one to the request that no schema has.
  AttemptResult Run(RunRequest request, bool unknown_field = false) {
    AttemptResult result;
    const AttemptPaths paths = PathsOfAttempt(folder_, ++number_);
    std::error_code error;
    fs::create_directories(paths.folder, error);
    absl::Status status =
        place_ == nullptr
            ? absl::InternalError("cannot make the place of the probe")
            : place_->Prepare(number_, /*move=*/false, {});
    if (status.ok()) {
      request.set_run_folder(place_->run_folder());
      request.set_events(paths.events);
      status = WriteJson(request, paths.request);
    }
    if (status.ok() && unknown_field) AddUnknownField(paths.request);
    if (!status.ok()) {
      result.record.set_outcome(v1::OUTCOME_HARNESS_ERROR);
      result.record.set_detail(std::string(status.message()));
      return result;
    }
    result = RunAttempt(OptionsOf(settings_, *place_, paths));
    // What the probe cannot tell for want of a record is in the verdict.
    WriteJson(result.record, paths.exit).IgnoreError();
    return result;
  }

  bool RunFolderIsEmpty() const {
    std::error_code error;
    return place_ == nullptr || !fs::exists(place_->run_folder(), error) ||
           fs::is_empty(place_->run_folder(), error);
  }

  ProbeRecord Passed() {
    record_.set_passed(true);
    return record_;
  }
  ProbeRecord Failed(const AttemptResult& result, const std::string& expected) {
    record_.set_detail(absl::StrCat("expected ", expected, "; found ",
                                    OutcomeText(result.record.outcome()), ": ",
                                    result.record.detail()));
    return record_;
  }

 private:
  static void AddUnknownField(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::string json = text.str();
    json.insert(json.find('{') + 1, absl::StrCat("\"", kNobodyHasThis,
                                                 "\": {\"deep\": [1, null]},"));
    std::ofstream(path, std::ios::trunc) << json;
  }

  const CaseSettings& settings_;
  const std::string folder_;
  std::unique_ptr<CasePlace> place_;
  int number_ = 0;
  ProbeRecord record_;
};

int StepsIn(const AttemptResult& result) {
  return std::count_if(result.events.begin(), result.events.end(),
                       [](const Event& event) { return event.has_step(); });
}

ProbeRecord Unsupported(const CaseSettings& settings, const std::string& name,
                        const RunRequest& request) {
  Probe probe(settings, name);
  const AttemptResult result = probe.Run(request);
  if (result.record.exit_code() != 10 || !result.record.has_exit_code()) {
    return probe.Failed(result, "exit code 10");
  }
  if (!probe.RunFolderIsEmpty()) {
    return probe.Failed(result, "nothing made in the run folder");
  }
  return probe.Passed();
}

ProbeRecord RequiredOnEmpty(const CaseSettings& settings, RunRequest request) {
  request.set_resume(RunRequest::REQUIRED);
  Probe probe(settings, "required_on_empty");
  const AttemptResult result = probe.Run(request);
  const v1::AttemptRecord& record = result.record;
  if (!record.has_exit_code() || record.exit_code() == 0 ||
      record.exit_code() == 13 || StepsIn(result) > 0) {
    return probe.Failed(result, absl::StrCat("an error and no step (it made ",
                                             StepsIn(result), ")"));
  }
  return probe.Passed();
}

std::vector<ProbeRecord> UnknownFieldAndFinishedAgain(
    const CaseSettings& settings, const RunRequest& request) {
  Probe unknown(settings, "unknown_field");
  const AttemptResult first = unknown.Run(request, /*unknown_field=*/true);
  if (first.record.outcome() != v1::OUTCOME_FINISHED) {
    ProbeRecord again;
    again.set_name("finished_again");
    again.set_detail("the run of unknown_field did not finish");
    return {unknown.Failed(first, "a finished run"), again};
  }
  const AttemptResult second = unknown.Run(request);
  ProbeRecord passed = unknown.Passed();
  ProbeRecord again;
  again.set_name("finished_again");
  // It may end before it has anything to say.
  if (second.record.has_exit_code() && second.record.exit_code() == 0 &&
      StepsIn(second) == 0) {
    again.set_passed(true);
  } else {
    again.set_detail(absl::StrCat("expected exit code 0 and no step; found ",
                                  OutcomeText(second.record.outcome()), ": ",
                                  second.record.detail(),
                                  ", steps: ", StepsIn(second)));
  }
  return {passed, again};
}

}  // namespace

std::vector<ProbeRecord> RunProbes(const CaseSettings& settings,
                                   const RunRequest& base) {
  RunRequest request = base;
  request.set_protocol(std::string(kProtocolVersion));
  request.set_resume(RunRequest::AUTO);
  RunRequest workload = request;
  workload.set_workload(kNobodyHasThis);
  RunRequest feature = request;
  feature.add_required_features(kNobodyHasThis);
  RunRequest protocol = request;
  protocol.set_protocol("999999");
  std::vector<ProbeRecord> records = {
      Unsupported(settings, "unknown_workload", workload),
      Unsupported(settings, "unknown_feature", feature),
      Unsupported(settings, "other_protocol", protocol),
      RequiredOnEmpty(settings, request),
  };
  for (ProbeRecord& record : UnknownFieldAndFinishedAgain(settings, request)) {
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace reprise::conformance
