// WarmupCosine: the learning-rate schedule `warmup-cosine-v1`.
//
//   absl::StatusOr<reprise::WarmupCosine> schedule =
//       reprise::WarmupCosine::Create({/*warmup=*/100, /*horizon=*/1872,
//                                      /*final_fraction=*/0.01});
//   if (!schedule.ok()) return schedule.status();
//   double lr = base_lr * schedule->Fraction(position);
//
// Positions are units completed (applied steps, unless the run says otherwise),
// so the first step uses Fraction(0). The factor is a pure function of the
// definition and the position: nothing accumulates, and a resumed run needs
// only its position. It is built from single IEEE operations in a fixed order,
// without the C library's cosine, so that every machine gets the same bits; it
// is specified with vectors in spec/ALGORITHMS.md.
#ifndef REPRISE_TRAINER_SCHEDULE_WARMUP_COSINE_H_
#define REPRISE_TRAINER_SCHEDULE_WARMUP_COSINE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

inline constexpr absl::string_view kWarmupCosineV1 = "warmup-cosine-v1";

// Immutable, safe to use from several threads.
class WarmupCosine {
 public:
  struct Definition {
    // Positions of linear warm-up; 0: none.
    uint64_t warmup = 0;
    // Position at which final_fraction is reached; more than warmup, at most
    // 2^53.
    uint64_t horizon = 0;
    // Factor at the horizon and beyond, in [0, 1].
    double final_fraction = 0;
  };

  // INVALID_ARGUMENT naming every value that is out of range.
  static absl::StatusOr<WarmupCosine> Create(Definition definition);

  // (position + 1) / warmup while position < warmup, then the cosine from 1 at
  // warmup to final_fraction at horizon, then final_fraction for good. In
  // [0, 1].
  double Fraction(uint64_t position) const;

  const Definition& definition() const { return definition_; }

 private:
  explicit WarmupCosine(Definition definition) : definition_(definition) {}

  Definition definition_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_SCHEDULE_WARMUP_COSINE_H_
