// Hypotheses about the samples: where in the uninterrupted run's order do the
// resumed run's samples lie?
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "conformance/judge/curves.h"

namespace reprise::conformance {
namespace {

// The samples of the uninterrupted run one after another.
std::vector<uint64_t> Stream(const Timeline& baseline) {
  std::vector<uint64_t> stream;
  for (const v1::StepEvent& step : baseline.steps) {
    stream.insert(stream.end(), step.id_list().begin(), step.id_list().end());
  }
  return stream;
}

// Sample positions at which `ids` occur in `stream` in order.
std::vector<uint64_t> Occurrences(const std::vector<uint64_t>& stream,
                                  const std::vector<uint64_t>& ids) {
  std::vector<uint64_t> positions;
  if (ids.empty() || ids.size() > stream.size()) return positions;
  auto at = stream.begin();
  while (true) {
    at = std::search(at, stream.end(), ids.begin(), ids.end());
    if (at == stream.end()) return positions;
    positions.push_back(at - stream.begin());
    ++at;
  }
}

// Steps of the baseline whose digest of ids begins the same sequence.
std::vector<uint64_t> StepOccurrences(const Comparison& comparison,
                                      uint64_t from) {
  constexpr size_t kRecords = 3;
  std::vector<uint64_t> steps;
  for (const v1::StepEvent& start : comparison.baseline().steps) {
    size_t matched = 0;
    for (size_t i = 0; i < kRecords; ++i) {
      const v1::StepEvent* found = comparison.attempt().Find(from + i);
      const v1::StepEvent* other = comparison.baseline().Find(start.step() + i);
      if (found == nullptr || other == nullptr) break;
      const Observation a = ReadChannel(Channel::kIds, found, nullptr);
      const Observation b = ReadChannel(Channel::kIds, other, nullptr);
      if (!a.present() || !b.present() || !Equal(a, b)) {
        matched = 0;
        break;
      }
      ++matched;
    }
    if (matched > 0) steps.push_back(start.step());
  }
  return steps;
}

}  // namespace

std::optional<bool> SamplesStartAt(const Comparison& comparison,
                                   uint64_t position) {
  const std::vector<uint64_t> stream = Stream(comparison.baseline());
  const v1::StepEvent* found = comparison.attempt().Find(comparison.first());
  if (found == nullptr || found->id_list_size() == 0 ||
      position + found->id_list_size() > stream.size()) {
    return std::nullopt;
  }
  // Of a step begun before the resume, the last samples are new.
  const uint64_t old =
      comparison.resume().micro *
      (found->id_list_size() / comparison.context().workload.accumulation);
  for (uint64_t i = old; i < static_cast<uint64_t>(found->id_list_size());
       ++i) {
    if (found->id_list(i) != stream[position + i - old]) return false;
  }
  return true;
}

std::vector<v1::Finding> AttributeIds(const Comparison& comparison,
                                      const Unexplained& difference) {
  const Workload& workload = comparison.context().workload;
  const uint64_t step = difference.step;
  auto named = [&](Item item, Fault fault, std::string evidence) {
    return std::vector<v1::Finding>{
        CurveFinding(comparison, difference, {Name(item, fault)},
                     absl::StrCat("at step ", step, ": ", evidence))};
  };
  const v1::StepEvent* found = comparison.attempt().Find(step);
  const v1::StepEvent* expected = comparison.Reference(step);

  // Positions in samples: where the step's samples lie, where they should.
  const std::vector<uint64_t> stream = Stream(comparison.baseline());
  uint64_t unit = 1;  // samples a unit of position
  std::vector<uint64_t> positions;
  uint64_t due = 0;
  const bool listed = found->id_list_size() > 0 && !stream.empty();
  if (listed) {
    std::vector<uint64_t> ids(found->id_list().begin(), found->id_list().end());
    if (const v1::StepEvent* next = comparison.attempt().Find(step + 1)) {
      std::vector<uint64_t> longer = ids;
      longer.insert(longer.end(), next->id_list().begin(),
                    next->id_list().end());
      positions = Occurrences(stream, longer);
    }
    if (positions.empty()) positions = Occurrences(stream, ids);
    if (positions.empty() && ids.size() > 3) {
      // Across an epoch's end: its first samples decide.
      ids.resize(ids.size() / 2);
      positions = Occurrences(stream, ids);
    }
    for (const v1::StepEvent& before : comparison.baseline().steps) {
      if (before.step() >= step) break;
      due += before.id_list_size();
    }
    if (expected != nullptr &&
        found->id_list_size() != expected->id_list_size()) {
      return named(Item::DATA_BATCH, Fault::FAULT_CHANGED,
                   absl::StrCat(found->id_list_size(), " samples a step, ",
                                expected->id_list_size(), " before"));
    }
    unit = std::max<uint64_t>(1, workload.step_samples != 0
                                     ? workload.step_samples
                                     : found->id_list_size());
  } else {
    positions = StepOccurrences(comparison, step);
    for (uint64_t& position : positions) --position;
    due = step - 1;
  }
  const uint64_t epoch = workload.epoch_steps * (listed ? unit : 1);
  const uint64_t micro = listed ? unit / workload.accumulation : 0;

  if (!positions.empty()) {
    // The nearest occurrence, earlier ones first.
    uint64_t at = positions[0];
    for (uint64_t position : positions) {
      const uint64_t distance =
          position > due ? position - due : due - position;
      if (distance < (at > due ? at - due : due - at)) at = position;
    }
    const bool behind = at < due;
    const uint64_t shift = behind ? due - at : at - due;
    const std::string by =
        absl::StrCat("the samples are those of position ", at,
                     listed ? " (in samples)" : " (in steps)", ", ", shift,
                     behind ? " behind" : " ahead of", " position ", due);
    if (shift == 0) {
      return named(Item::SAMPLER_ORDER, Fault::FAULT_REORDERED, by);
    }
    if (epoch > 0) {
      const bool boundary = due % epoch == 0 && due > 0;
      if (boundary && shift == epoch) {
        return named(
            Item::SAMPLER_CURSOR, Fault::FAULT_EPOCH_END,
            absl::StrCat(by, ": an epoch ", behind ? "repeated" : "left out"));
      }
      if (shift % epoch == 0) {
        return named(Item::SAMPLER_ORDER, Fault::FAULT_REORDERED,
                     absl::StrCat(by, ": the order of another epoch"));
      }
      if (behind && at == due / epoch * epoch) {
        return named(Item::SAMPLER_CURSOR, Fault::FAULT_RESET,
                     absl::StrCat(by, ": the epoch starts again"));
      }
    }
    if (at == 0) {
      return named(Item::SAMPLER_CURSOR, Fault::FAULT_RESET,
                   absl::StrCat(by, ": the data start again"));
    }
    // A step's worth of micro-steps taken for one.
    if (workload.accumulation > 1 && (at == due / workload.accumulation ||
                                      at == due * workload.accumulation)) {
      return named(Item::SAMPLER_CURSOR, Fault::FAULT_UNIT,
                   absl::StrCat(by, ": steps taken for micro-steps; ", shift,
                                " samples ", behind ? "replayed" : "lost"));
    }
    if (workload.accumulation > 1 && micro > 0 && shift < unit &&
        shift % micro == 0 && listed) {
      return {CurveFinding(
          comparison, difference, {Name(Item::ACCUM_COUNT, Fault::FAULT_RESET)},
          absl::StrCat("at step ", step, ": ", by, ": boundaries shifted by ",
                       shift / micro, " micro-steps"))};
    }
    if (listed && unit > 1 && at == due / unit) {
      return named(Item::SAMPLER_CURSOR, Fault::FAULT_UNIT,
                   absl::StrCat(by, ": steps taken for samples"));
    }
    return named(Item::SAMPLER_CURSOR,
                 behind ? Fault::FAULT_LAG : Fault::FAULT_LEAD, by);
  }

  if (listed) {
    const std::set<uint64_t> known(stream.begin(), stream.end());
    for (uint64_t id : found->id_list()) {
      if (known.count(id) == 0) {
        return named(
            Item::DATA_FINGERPRINT, Fault::FAULT_CHANGED,
            absl::StrCat("sample ", id, " is none of the uninterrupted run's"));
      }
    }
    return named(Item::SAMPLER_ORDER, Fault::FAULT_REORDERED,
                 "known samples in an order that the uninterrupted run never "
                 "has");
  }
  std::vector<v1::FaultName> names = {
      Name(Item::SAMPLER_ORDER, Fault::FAULT_REORDERED),
      Name(Item::DATA_FINGERPRINT, Fault::FAULT_CHANGED)};
  if (workload.accumulation > 1) {
    names.insert(names.begin(), Name(Item::SAMPLER_CURSOR, Fault::FAULT_UNIT));
    names.push_back(Name(Item::ACCUM_COUNT, Fault::FAULT_RESET));
  }
  return {CurveFinding(comparison, difference, std::move(names),
                       absl::StrCat("at step ", step,
                                    ": a batch that no step of the "
                                    "uninterrupted run has"))};
}

}  // namespace reprise::conformance
