// What a person sees of a campaign: on a terminal one line that is redrawn,
//
//   [12/40] default/inside_first_epoch  attempt 2  step 35/300  3m20s left
//
// elsewhere one line per case that ended.
#ifndef REPRISE_CONFORMANCE_RUNNER_PROGRESS_H_
#define REPRISE_CONFORMANCE_RUNNER_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace reprise::conformance {

// Not thread-safe.
class CampaignProgress {
 public:
  // Where it goes; the default is standard error.
  struct Surroundings {
    bool is_terminal = false;
    std::function<void(absl::string_view)> write;

    static Surroundings Real();
    // Says nothing.
    static Surroundings None();
  };

  explicit CampaignProgress(Surroundings surroundings);
  // Leaves the cursor on a fresh line.
  ~CampaignProgress();

  void SetCases(int total) { total_ = total; }
  void BeginCase(absl::string_view name, absl::Duration left);
  void Attempt(int number, uint64_t step, uint64_t steps);
  void EndCase(absl::string_view name, absl::string_view result);
  void Print(absl::string_view text);

 private:
  void Draw(const std::string& line);

  const Surroundings surroundings_;
  int total_ = 0;
  int begun_ = 0;
  std::string case_;
  absl::Duration left_;
  absl::Time last_draw_ = absl::InfinitePast();
  size_t drawn_ = 0;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_PROGRESS_H_
