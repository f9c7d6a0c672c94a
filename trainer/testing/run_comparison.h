// Decides whether two runs of the trainer are the same run, to the last bit.
//
//   auto baseline = StepTable::Of(ReadMetrics(uninterrupted)->kept).value();
//   for (const Difference& d : Compare(baseline, killed_and_resumed)) ...
//
// Every record of the other run counts, those of an earlier attempt that a
// later one superseded too: a replayed step must equal what the attempt before
// had done, and both must equal the uninterrupted run.
#ifndef REPRISE_TRAINER_TESTING_RUN_COMPARISON_H_
#define REPRISE_TRAINER_TESTING_RUN_COMPARISON_H_

#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "format/snapshot.h"
#include "trainer/testing/metrics_records.h"

namespace reprise {

// One value that is not the baseline's.
struct Difference {
  uint64_t step = 0;
  // A field of the record ("loss", "lr", "scale", "ids", ...), or "record" when
  // a step has no record or more than one.
  std::string channel;
  std::string expected;
  std::string found;
  friend std::ostream& operator<<(std::ostream& out, const Difference& d);
};

// The records of an uninterrupted run by type and step.
class StepTable {
 public:
  // Errors: InvalidArgument when a step has two records of one type, or the
  // step records are not 1, 2, ..., n.
  static absl::StatusOr<StepTable> Of(const std::vector<MetricsRecord>& kept);

  // Null when there is none.
  const MetricsRecord* Find(const std::string& type, uint64_t step) const;
  // Records of `type`, ascending by step.
  std::vector<const MetricsRecord*> All(const std::string& type) const;
  uint64_t last_step() const { return last_step_; }

 private:
  std::map<std::pair<std::string, uint64_t>, MetricsRecord> records_;
  uint64_t last_step_ = 0;
};

// Ascending by step. `first_step`: the kept records begin there (1 for a whole
// run) and reach as far as the baseline's.
std::vector<Difference> Compare(const StepTable& baseline,
                                const MetricsRecords& run,
                                uint64_t first_step = 1);

// The channels that differ at `step`.
std::set<std::string> ChannelsAt(const std::vector<Difference>& differences,
                                 uint64_t step);
// The first step at which `channel` differs; 0 when it never does.
uint64_t FirstStep(const std::vector<Difference>& differences,
                   const std::string& channel);

// What differs in the training state of two snapshots, one text an item; which
// run and attempt it was, when, where and with what is left out.
std::vector<std::string> CompareState(const Snapshot& expected,
                                      const Snapshot& found);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_RUN_COMPARISON_H_
