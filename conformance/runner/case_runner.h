// Runs the attempts of one case and leaves its records.
//
//   CaseRunner runner(settings);
//   CaseResult result = runner.Run(plan, geometry);
//
// A case ends at the first attempt that does not go as planned. One whose kill
// came too late, after the end of the run or when no step was left to resume,
// says nothing about the testee: it is begun again, four times at most, from
// the third time on with earlier kills. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_RUNNER_CASE_RUNNER_H_
#define REPRISE_CONFORMANCE_RUNNER_CASE_RUNNER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/runner/attempt.h"
#include "conformance/runner/case_place.h"
#include "conformance/runner/lineage.h"
#include "conformance/runner/testee.h"

namespace reprise::conformance {

enum class KeepRunFolders {
  kNever,
  // Those of cases that did not go as planned.
  kOfBadCases,
  kAlways,
};

struct CaseSettings {
  Testee testee;
  v1::Description description;
  // Of the campaign. Run folders are made below DIR/work.
  std::string dir;
  Deadlines deadlines;
  AttemptLimits limits;
  KeepRunFolders keep = KeepRunFolders::kOfBadCases;
  std::function<bool()> cancelled;
  // After every event: attempt number and its event.
  std::function<void(int, const Event&)> on_event;
};

// What every attempt of a case or a probe is given: the request that lies at
// `paths`, in `place`, prepared for it. A kill is for the caller to add.
AttemptOptions OptionsOf(const CaseSettings& settings, const CasePlace& place,
                         const AttemptPaths& paths);

struct CaseResult {
  v1::CaseRecord record;
  // Of every attempt that ran; for a repetition, of its own last one.
  std::vector<AttemptResult> attempts;
};

// Of a case that was not run.
v1::CaseRecord NotRunRecord(const v1::CasePlan& plan,
                            const std::string& reason);

class CaseRunner {
 public:
  explicit CaseRunner(CaseSettings settings);

  // Runs the case in DIR/<profile>/<name>. A copy of the run folder as its last
  // attempt finds it is kept when `keep_fork`, for RunFork.
  CaseResult Run(const v1::CasePlan& plan, const v1::Geometry& geometry,
                 bool keep_fork = false);

  // Runs only the last attempt of `plan`, from the kept copy of the case that
  // it repeats; the records of the attempts before are copied. `edit` gets the
  // run folder first; NotFound of it means that there is nothing to edit and
  // the case is not run, any other error is HARNESS_ERROR.
  CaseResult RunFork(
      const v1::CasePlan& plan, const v1::Geometry& geometry,
      const std::function<absl::Status(const std::string&)>& edit = nullptr);

  // Drops the kept copy.
  void DropFork(const std::string& profile, const std::string& name);

 private:
  struct Fork {
    std::unique_ptr<CasePlace> place;
    int next_attempt = 1;
  };

  CaseResult RunOnce(const v1::CasePlan& plan, const v1::Geometry& geometry,
                     bool keep_fork, bool* missed);
  absl::Status RunAttempts(const v1::CasePlan& plan,
                           const v1::Geometry& geometry, int first,
                           CasePlace* place, bool keep_fork,
                           CaseResult* result);
  absl::Status RunOne(const v1::CasePlan& plan, const v1::Geometry& geometry,
                      int number, CasePlace* place, AttemptResult* result);
  RunRequest RequestFor(const v1::CasePlan& plan, int number,
                        const CasePlace& place, const std::string& events);
  absl::Status KeepFork(const v1::CasePlan& plan, const CasePlace& place,
                        int next_attempt);
  absl::Status MakeRecords(const v1::CasePlan& plan);
  absl::Status MakePlace(const v1::CasePlan& plan,
                         std::unique_ptr<CasePlace>* place);
  absl::Status CopyRecords(const v1::CasePlan& plan);
  void Finish(const v1::CasePlan& plan, const absl::Status& status,
              CasePlace* place, CaseResult* result);
  std::string RecordsFolder(const v1::CasePlan& plan) const;
  std::string WorkFolder(const v1::CasePlan& plan) const;

  const CaseSettings settings_;
  // By profile/name of the case that it was taken from.
  std::map<std::string, Fork> forks_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_CASE_RUNNER_H_
