#include "conformance/judge/power.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "conformance/judge/causes.h"
#include "conformance/judge/curves.h"
#include "conformance/judge/lineage.h"

namespace reprise::conformance {
namespace {

// A channel that moved, in thresholds; infinite where exactness is demanded.
struct Moved {
  bool any = false;
  Channel channel = Channel::kLoss;
  double ratio = 0;
};

Moved LargestMove(const Comparison& comparison, std::optional<Item> item) {
  Moved moved;
  const Onsets onsets = comparison.FindOnsets(comparison.first());
  for (Channel channel : kChannels) {
    for (uint64_t step : comparison.Steps(channel)) {
      if (item.has_value() &&
          !Explains(*item, Fault::FAULT_UNSPECIFIED, comparison.first(),
                    channel, step, onsets)) {
        continue;
      }
      const Observation found = comparison.Found(channel, step);
      const Observation expected = comparison.Expected(channel, step);
      if (!found.present() || !expected.present() || Equal(found, expected)) {
        continue;
      }
      const double threshold = comparison.Threshold(channel, step);
      const double deviation = Deviation(found, expected);
      const double ratio = threshold == 0
                               ? std::numeric_limits<double>::infinity()
                               : deviation / threshold;
      if (std::isnan(ratio) || std::isinf(threshold)) continue;
      if (!moved.any || ratio > moved.ratio) {
        moved = {true, channel, ratio};
      }
    }
  }
  return moved;
}

std::string ControlText(const ControlEvidence& control) {
  return control.item.has_value() ? reprise::TextOf(*control.item)
                                  : "weights-only";
}

}  // namespace

std::vector<v1::Power> MeasurePower(const Context& context) {
  std::vector<v1::Power> result;
  for (const ControlEvidence& control : context.evidence->controls) {
    v1::Power& power = result.emplace_back();
    if (control.item.has_value()) power.set_item(*control.item);
    power.set_status(v1::Power::NOT_SHOWN);
    const Lineage lineage = CheckLineage(context, control.lineage);
    if (lineage.attempts.size() < 2) {
      power.set_text("the control never resumed");
      continue;
    }
    const size_t last = lineage.attempts.size() - 1;
    const Comparison comparison(context, lineage, last);
    if (control.item.has_value()) {
      const Timeline& resumed = lineage.attempts[last];
      auto saved = lineage.resumes[last].saved.find(*control.item);
      auto loaded = resumed.after_load.find(*control.item);
      const bool told = saved != lineage.resumes[last].saved.end() &&
                        loaded != resumed.after_load.end();
      if (comparison.excluded.count(*control.item) > 0 ||
          (told && saved->second.digest() == loaded->second.digest())) {
        power.set_status(v1::Power::STATUS_UNSPECIFIED);
        power.set_text(absl::StrCat("there is nothing to lose of ",
                                    ControlText(control), " here"));
        continue;
      }
      if (told) {
        power.set_status(v1::Power::SHOWN);
        power.set_channel("digest after load");
        power.set_text(absl::StrCat("losing ", ControlText(control),
                                    " changes its digest"));
        continue;
      }
    }
    const Moved moved = LargestMove(comparison, control.item);
    if (!moved.any) {
      power.set_text(absl::StrCat("losing ", ControlText(control),
                                  " moved no channel that it should move"));
      continue;
    }
    power.set_channel(ChannelText(moved.channel));
    if (std::isfinite(moved.ratio)) power.set_ratio(moved.ratio);
    if (moved.ratio >= kPowerFactor) {
      power.set_status(v1::Power::SHOWN);
      power.set_text(absl::StrCat("losing ", ControlText(control), " moves ",
                                  ChannelText(moved.channel)));
    } else {
      power.set_text(absl::StrCat("losing ", ControlText(control), " moves ",
                                  ChannelText(moved.channel), " by ",
                                  moved.ratio, " thresholds, ", kPowerFactor,
                                  " are needed"));
    }
  }
  return result;
}

std::vector<std::string> EqualControls(const Context& context,
                                       const Lineage& subject) {
  std::vector<std::string> equal;
  for (const ControlEvidence& control : context.evidence->controls) {
    const Lineage lineage = CheckLineage(context, control.lineage);
    if (lineage.attempts.size() < 2) continue;
    const size_t last = lineage.attempts.size() - 1;
    const Comparison comparison(context, lineage, last);
    if (LargestMove(comparison, std::nullopt).ratio < kPowerFactor) continue;
    for (size_t i = 1; i < subject.attempts.size(); ++i) {
      if (subject.resumes[i].fresh ||
          subject.resumes[i].step != lineage.resumes[last].step) {
        continue;
      }
      size_t compared = 0;
      bool same = true;
      for (const v1::StepEvent& step : subject.attempts[i].steps) {
        const v1::StepEvent* other = lineage.attempts[last].Find(step.step());
        if (other == nullptr) continue;
        for (Channel channel : kChannels) {
          const Observation a = ReadChannel(channel, &step, nullptr);
          const Observation b = ReadChannel(channel, other, nullptr);
          if (!a.present() || !b.present()) continue;
          same &= !Differs(a, b, comparison.Threshold(channel, step.step()));
        }
        ++compared;
      }
      if (same && compared >= 3) {
        equal.push_back(ControlText(control));
        break;
      }
    }
  }
  return equal;
}

}  // namespace reprise::conformance
