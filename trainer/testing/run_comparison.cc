#include "trainer/testing/run_comparison.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

std::string ChannelOr(const MetricsRecord& record, const std::string& channel,
                      const std::string& otherwise) {
  const auto found = record.channels.find(channel);
  return found == record.channels.end() ? otherwise : found->second;
}

void CompareRecord(const MetricsRecord& expected, const MetricsRecord& found,
                   std::vector<Difference>* differences) {
  std::set<std::string> names;
  for (const auto& channel : expected.channels) names.insert(channel.first);
  for (const auto& channel : found.channels) names.insert(channel.first);
  // An evaluation's loss is another channel than a step's.
  const std::string prefix =
      expected.type == "step" ? "" : absl::StrCat(expected.type, ".");
  for (const std::string& name : names) {
    const std::string a = ChannelOr(expected, name, "(absent)");
    const std::string b = ChannelOr(found, name, "(absent)");
    if (a != b) {
      differences->push_back({found.step, absl::StrCat(prefix, name), a, b});
    }
  }
}

std::string Bits(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return absl::StrCat(absl::Hex(bits, absl::kZeroPad16));
}

std::string Bits(const std::optional<double>& value) {
  return value.has_value() ? Bits(*value) : "none";
}

void CompareTensors(const std::string& item, const std::vector<Tensor>& a,
                    const std::vector<Tensor>& b,
                    std::vector<std::string>* differences) {
  if (a.size() != b.size()) {
    differences->push_back(absl::StrCat(item, ": expected ", a.size(),
                                        " tensors, found ", b.size()));
    return;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name() != b[i].name() || a[i].dtype() != b[i].dtype() ||
        a[i].shape() != b[i].shape()) {
      differences->push_back(absl::StrCat(item, ": expected ", a[i].name(),
                                          ", found ", b[i].name(),
                                          " or another type or shape"));
    } else if (a[i].bytes() != b[i].bytes()) {
      differences->push_back(
          absl::StrCat(item, ": other bytes in ", a[i].name()));
    }
  }
}

// Everything of a group in one line.
std::string Describe(const ParameterGroup& g) {
  return absl::StrCat(
      g.name, " [", absl::StrJoin(g.parameters, " "), "] lr ", Bits(g.lr),
      " base_lr ", Bits(g.base_lr), " weight_decay ", Bits(g.weight_decay),
      " betas ", Bits(g.beta1), " ", Bits(g.beta2), " eps ", Bits(g.eps),
      " momentum ", Bits(g.momentum), " dampening ", Bits(g.dampening),
      " nesterov ",
      g.nesterov.has_value() ? absl::StrCat(*g.nesterov) : "none");
}

std::string Describe(const std::vector<NamedNumber>& numbers) {
  return absl::StrJoin(numbers, " ",
                       [](std::string* out, const NamedNumber& n) {
                         absl::StrAppend(out, n.name, "=", Bits(n.value));
                       });
}

std::string Describe(const ScheduleState& s) {
  return absl::StrCat(
      s.form, " unit ", static_cast<int>(s.unit), " position ", s.position,
      " horizon ", s.horizon, " warmup ", s.warmup, " final_fraction ",
      Bits(s.final_fraction), " ", Describe(s.parameters), " state ",
      !s.state ? "none"
               : absl::StrCat(Bits(s.state->best), " ", s.state->bad_count, " ",
                              s.state->cooldown, " ", Bits(s.state->factor)));
}

std::string Describe(const GradScalerState& s) {
  return absl::StrCat("scale ", Bits(s.scale), " tracker ", s.growth_tracker,
                      " interval ", s.growth_interval, " growth ",
                      Bits(s.growth_factor), " backoff ",
                      Bits(s.backoff_factor), " minimum ", Bits(s.min_scale),
                      " ", s.arithmetic);
}

std::string Describe(const SamplerState& s) {
  return absl::StrCat(s.algorithm, " seed ", s.seed, " cursor ", s.cursor,
                      " batch ", s.batch_size, " of ", s.dataset_size, " ",
                      s.stream_algorithm, " ", s.augmentation);
}

void CompareText(const std::string& item, const std::string& a,
                 const std::string& b, std::vector<std::string>* differences) {
  if (a == b) return;
  differences->push_back(absl::StrCat(item, ": expected ", a, ", found ", b));
}

std::string Describe(const CounterState& c) {
  return absl::StrCat("applied ", c.applied, " skipped ", c.skipped,
                      " samples ", c.samples);
}

std::string Describe(const ClipState& c) {
  return absl::StrCat("kind ", static_cast<int>(c.kind), " limit ",
                      Bits(c.limit), " norm ", Bits(c.norm_type));
}

std::string Describe(const EvaluationState& e) {
  return absl::StrCat(
      "pending ", e.pending, " last ",
      !e.last ? "none"
              : absl::StrCat(e.last->step, " ", Describe(e.last->metrics)));
}

std::string Describe(const BestState& b) {
  return absl::StrCat(b.metric, " higher ", b.higher_is_better, " value ",
                      Bits(b.value), " step ", b.step);
}

std::string Describe(const EarlyStopState& e) {
  return absl::StrCat("patience ", e.patience, " delta ", Bits(e.min_delta),
                      " bad ", e.bad_count, " best ", Bits(e.best));
}

std::string Describe(const EmaState& e) {
  return absl::StrCat("decay ", Bits(e.decay), " ramp ", e.ramp, " updates ",
                      e.updates);
}

std::string Describe(const AccumulationState& a) {
  return absl::StrCat(a.count, " of ", a.per_step);
}

std::string Describe(const DataFingerprint& f) {
  return absl::StrCat(f.algorithm, " ", absl::BytesToHexString(f.digest));
}

std::string Describe(const WitnessState& w) {
  return absl::StrCat(
      absl::BytesToHexString(w.next_samples), " lr ", Describe(w.next_lr),
      " scale ", w.next_scale ? Bits(*w.next_scale) : "none", " draws ",
      absl::StrJoin(w.draws, " ",
                    [](std::string* out, const WitnessState::Draw& d) {
                      absl::StrAppend(out, d.generator, "=",
                                      absl::BytesToHexString(d.digest));
                    }));
}

template <typename T>
std::string Describe(const std::optional<T>& value) {
  return value.has_value() ? Describe(*value) : "none";
}

void CompareOptimizers(const OptimizerState& a, const OptimizerState& b,
                       std::vector<std::string>* differences) {
  CompareText("optim.kind", absl::StrCat(a.kind, " ", a.arithmetic),
              absl::StrCat(b.kind, " ", b.arithmetic), differences);
  const auto describe = [](std::string* out, const ParameterGroup& group) {
    out->append(Describe(group));
  };
  CompareText("optim.groups", absl::StrJoin(a.groups, "; ", describe),
              absl::StrJoin(b.groups, "; ", describe), differences);
  if (a.states.size() != b.states.size()) {
    differences->push_back(absl::StrCat("optim.moments: expected ",
                                        a.states.size(), " states, found ",
                                        b.states.size()));
    return;
  }
  for (size_t i = 0; i < a.states.size(); ++i) {
    CompareText("optim.step",
                absl::StrCat(a.states[i].parameter, " ", a.states[i].step),
                absl::StrCat(b.states[i].parameter, " ", b.states[i].step),
                differences);
    CompareTensors(absl::StrCat("optim.moments of ", a.states[i].parameter),
                   a.states[i].moments, b.states[i].moments, differences);
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Difference& d) {
  return out << "step " << d.step << ", " << d.channel << ": expected "
             << d.expected << ", found " << d.found;
}

absl::StatusOr<StepTable> StepTable::Of(
    const std::vector<MetricsRecord>& kept) {
  StepTable table;
  for (const MetricsRecord& record : kept) {
    if (!table.records_.insert({{record.type, record.step}, record}).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two ", record.type, " records of step ", record.step));
    }
    if (record.type != "step") continue;
    if (record.step != table.last_step_ + 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("step ", record.step, " after step ", table.last_step_));
    }
    table.last_step_ = record.step;
  }
  return table;
}

const MetricsRecord* StepTable::Find(const std::string& type,
                                     uint64_t step) const {
  const auto found = records_.find({type, step});
  return found == records_.end() ? nullptr : &found->second;
}

std::vector<const MetricsRecord*> StepTable::All(
    const std::string& type) const {
  std::vector<const MetricsRecord*> all;
  for (const auto& record : records_) {
    if (record.first.first == type) all.push_back(&record.second);
  }
  return all;
}

std::vector<Difference> Compare(const StepTable& baseline,
                                const MetricsRecords& run,
                                uint64_t first_step) {
  std::vector<Difference> differences;
  for (const auto* records : {&run.kept, &run.superseded}) {
    for (const MetricsRecord& record : *records) {
      const MetricsRecord* expected = baseline.Find(record.type, record.step);
      if (expected == nullptr) {
        differences.push_back(
            {record.step, "record", absl::StrCat("no ", record.type), "one"});
      } else {
        CompareRecord(*expected, record, &differences);
      }
    }
  }
  // What stands must be the whole run, each step once.
  std::map<std::pair<std::string, uint64_t>, int> counts;
  for (const MetricsRecord& record : run.kept) {
    ++counts[{record.type, record.step}];
  }
  for (const std::string type : {"step", "eval"}) {
    for (const MetricsRecord* expected : baseline.All(type)) {
      const int count = counts[{type, expected->step}];
      if (expected->step < first_step || count == 1) continue;
      differences.push_back({expected->step, "record",
                             absl::StrCat("one ", type), absl::StrCat(count)});
    }
  }
  std::stable_sort(
      differences.begin(), differences.end(),
      [](const Difference& a, const Difference& b) { return a.step < b.step; });
  return differences;
}

std::set<std::string> ChannelsAt(const std::vector<Difference>& differences,
                                 uint64_t step) {
  std::set<std::string> channels;
  for (const Difference& d : differences) {
    if (d.step == step) channels.insert(d.channel);
  }
  return channels;
}

uint64_t FirstStep(const std::vector<Difference>& differences,
                   const std::string& channel) {
  for (const Difference& d : differences) {
    if (d.channel == channel) return d.step;
  }
  return 0;
}

std::vector<std::string> CompareState(const Snapshot& expected,
                                      const Snapshot& found) {
  std::vector<std::string> differences;
  CompareText("counters.step", absl::StrCat(expected.step),
              absl::StrCat(found.step), &differences);
  CompareText("model.params",
              absl::StrCat(expected.architecture, " ", expected.initialisation),
              absl::StrCat(found.architecture, " ", found.initialisation),
              &differences);
  CompareTensors("model.params", expected.parameters, found.parameters,
                 &differences);
  CompareTensors("model.buffers", expected.buffers, found.buffers,
                 &differences);
  if (expected.optimizer.has_value() != found.optimizer.has_value()) {
    differences.push_back("optim.kind: in one of the two only");
  } else if (expected.optimizer.has_value()) {
    CompareOptimizers(*expected.optimizer, *found.optimizer, &differences);
  }
  CompareText("sched.position", Describe(expected.schedule),
              Describe(found.schedule), &differences);
  CompareText("scaler.scale", Describe(expected.scaler), Describe(found.scaler),
              &differences);
  CompareText("sampler.cursor", Describe(expected.sampler),
              Describe(found.sampler), &differences);
  CompareTensors("master", expected.masters, found.masters, &differences);
  CompareTensors("accum.grads", expected.gradients, found.gradients,
                 &differences);
  CompareTensors("ema.weights", expected.ema_weights, found.ema_weights,
                 &differences);
  CompareText("counters", Describe(expected.counters), Describe(found.counters),
              &differences);
  CompareText("clip", Describe(expected.clip), Describe(found.clip),
              &differences);
  CompareText("eval", Describe(expected.evaluation), Describe(found.evaluation),
              &differences);
  CompareText("best", Describe(expected.best), Describe(found.best),
              &differences);
  CompareText("early_stop", Describe(expected.early_stop),
              Describe(found.early_stop), &differences);
  CompareText("ema", Describe(expected.ema), Describe(found.ema), &differences);
  CompareText("accum.count", Describe(expected.accumulation),
              Describe(found.accumulation), &differences);
  CompareText("data.fingerprint", Describe(expected.fingerprint),
              Describe(found.fingerprint), &differences);
  CompareText("witness", Describe(expected.witness), Describe(found.witness),
              &differences);
  CompareText(
      "frozen.flags",
      absl::StrJoin(expected.frozen.value_or(std::vector<std::string>()), " "),
      absl::StrJoin(found.frozen.value_or(std::vector<std::string>()), " "),
      &differences);
  const auto generators = [](const Snapshot& snapshot) {
    return absl::StrJoin(snapshot.generators, "; ",
                         [](std::string* out, const GeneratorState& g) {
                           absl::StrAppend(out, g.name, " ", g.algorithm, " ",
                                           g.library, " ",
                                           absl::BytesToHexString(g.state));
                         });
  };
  CompareText("rng.cpu", generators(expected), generators(found), &differences);
  return differences;
}

}  // namespace reprise
