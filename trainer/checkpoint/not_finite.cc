#include "trainer/checkpoint/not_finite.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/non_finite.h"

namespace reprise {
namespace {

constexpr char kMark[] = "trainer.not_finite";
constexpr size_t kNamed = 5;

}  // namespace

std::string NotFinite(const Snapshot& snapshot) {
  std::vector<std::string> names = NonFiniteTensors(snapshot);
  for (const Tensor& tensor : snapshot.ema_weights) {
    if (HasNonFinite(tensor)) {
      names.push_back(absl::StrCat("ema.weights/", tensor.name()));
    }
  }
  if (snapshot.scaler.has_value() && !std::isfinite(snapshot.scaler->scale)) {
    names.push_back("scaler.scale");
  }
  if (names.size() > kNamed) {
    const size_t more = names.size() - kNamed;
    names.resize(kNamed);
    names.push_back(absl::StrCat(more, " more"));
  }
  return absl::StrJoin(names, ", ");
}

std::string MarkNotFinite(Snapshot* snapshot) {
  const std::string names = NotFinite(*snapshot);
  if (names.empty()) return names;
  snapshot->user.push_back({kMark, names});
  snapshot->MarkSaved(Item::USER);
  return names;
}

}  // namespace reprise
