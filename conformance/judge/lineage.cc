#include "conformance/judge/lineage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {
namespace {

using Ground = v1::Finding;

constexpr int kExitUnsupported = 10;
constexpr int kExitStopped = 13;

// A checkpoint that the run folder should hold.
struct Saved {
  SaveRecord record;
  size_t attempt = 0;
  bool abandoned = false;
};

std::string StepText(uint64_t step, uint64_t micro) {
  return micro == 0 ? absl::StrCat("step ", step)
                    : absl::StrCat("step ", step, " micro-step ", micro);
}

bool Later(const SaveRecord& a, const SaveRecord& b) {
  return std::make_pair(a.step, a.micro) > std::make_pair(b.step, b.micro);
}

// Reference steps q at which the first records of `attempt` equal those of
// `base` from q on, in sample ids, loss and learning rate. Empty when none fits
// or the records do not say enough.
std::set<uint64_t> Positions(const Context& context, const Timeline& attempt,
                             const Timeline& base, bool replay) {
  constexpr size_t kRecords = 4;
  constexpr Channel kContent[] = {Channel::kIds, Channel::kLoss, Channel::kLr};
  std::set<uint64_t> positions;
  const size_t records = std::min(kRecords, attempt.steps.size());
  if (records == 0) return positions;
  for (const v1::StepEvent& first : base.steps) {
    size_t compared = 0;
    bool fits = true;
    bool told = false;  // a channel that differs from step to step took part
    for (size_t i = 0; i < records && fits; ++i) {
      const v1::StepEvent* other = base.Find(first.step() + i);
      if (other == nullptr) {
        fits = i > 0;
        break;
      }
      for (Channel channel : kContent) {
        const Observation a = ReadChannel(channel, &attempt.steps[i], nullptr);
        const Observation b = ReadChannel(channel, other, nullptr);
        if (!a.present() || !b.present()) continue;
        const double threshold =
            replay ? context.noise.ReplayThreshold(channel, i + 1)
                   : context.noise.Threshold(channel, other->step());
        if (Differs(a, b, threshold)) fits = false;
        ++compared;
        told |= channel == Channel::kIds || context.noise.Exact(channel);
      }
    }
    if (fits && told && compared >= 2) positions.insert(first.step());
  }
  return positions;
}

class Checker {
 public:
  Checker(const Context& context, const LineageEvidence& subject)
      : context_(context), subject_(subject) {}

  Lineage Check() {
    for (size_t i = 0; i < subject_.attempts.size(); ++i) {
      Timeline timeline = Timeline::From(subject_.attempts[i]);
      if (!timeline.started) {
        if (!NotStarted(i)) return std::move(result_);
        continue;
      }
      Resume resume = i == 0 ? Resume{} : TakeUp(i, &timeline);
      AddSaves(i, timeline);
      CheckRecords(i, timeline);
      CheckSaves(i, resume, timeline);
      CheckExit(i, timeline);
      result_.attempts.push_back(std::move(timeline));
      result_.resumes.push_back(std::move(resume));
    }
    CheckEnd();
    return std::move(result_);
  }

 private:
  void Find(Item item, Fault fault, size_t attempt, uint64_t step,
            std::string channel, std::string evidence) {
    result_.findings.push_back(
        MakeFinding({Name(item, fault)}, Ground::LINEAGE, attempt + 1, step,
                    std::move(channel), std::move(evidence)));
  }

  // False when nothing after it can be judged.
  bool NotStarted(size_t i) {
    const AttemptEvidence& attempt = subject_.attempts[i];
    if (attempt.exit_code == kExitUnsupported) {
      result_.outcome = v1::SKIP;
      result_.notes.push_back(
          "the testee does not support what the case needs");
    } else if (attempt.sent != Sent::kNothing) {
      // Killed before its first event: nothing to judge in this attempt.
      result_.attempts.emplace_back();
      result_.resumes.emplace_back();
      result_.notes.push_back(absl::StrCat(
          "attempt ", i + 1, " was killed before its first event"));
      return true;
    } else {
      Find(Item::RUN, Fault::FAULT_FAILED, i, 0, "exit",
           absl::StrCat("attempt ", i + 1, " ended before its start event, ",
                        attempt.misbehaved.empty() ? ExitText(attempt)
                                                   : attempt.misbehaved));
    }
    return false;
  }

  static std::string ExitText(const AttemptEvidence& attempt) {
    if (attempt.signal != 0) return absl::StrCat("signal ", attempt.signal);
    if (attempt.exit_code.has_value()) {
      return absl::StrCat("exit status ", *attempt.exit_code);
    }
    return "exit status unknown";
  }

  const Saved* NewestCommitted() const {
    const Saved* newest = nullptr;
    for (const Saved& saved : saves_) {
      if (!saved.record.committed || saved.abandoned) continue;
      if (newest == nullptr || Later(saved.record, newest->record)) {
        newest = &saved;
      }
    }
    return newest;
  }

  // The checkpoint that a start event means; null when none fits.
  Saved* Meant(const v1::StartEvent& start) {
    Saved* meant = nullptr;
    for (Saved& saved : saves_) {
      if (!start.checkpoint().empty() &&
          saved.record.checkpoint == start.checkpoint()) {
        meant = &saved;
      }
    }
    if (meant != nullptr) return meant;
    for (Saved& saved : saves_) {
      if (saved.record.step == start.resumed_step() &&
          saved.record.micro == start.resumed_micro() && !saved.record.failed) {
        meant = &saved;
      }
    }
    return meant;
  }

  // Fits of the first records: in the run's own records first, else in a
  // baseline.
  std::set<uint64_t> PositionsOf(const Timeline& timeline) const {
    for (size_t i = result_.attempts.size(); i-- > 0;) {
      std::set<uint64_t> positions =
          Positions(context_, timeline, result_.attempts[i], true);
      if (!positions.empty()) return positions;
    }
    for (const Timeline& baseline : context_.baselines) {
      std::set<uint64_t> positions =
          Positions(context_, timeline, baseline, false);
      if (!positions.empty()) return positions;
    }
    return {};
  }

  // Decides which checkpoint attempt `i` took up; renumbers `timeline` when
  // only its step count is wrong.
  Resume TakeUp(size_t i, Timeline* timeline) {
    const v1::StartEvent& start = timeline->start;
    const Saved* newest = NewestCommitted();
    Saved* meant = Meant(start);
    const bool says_fresh = start.resumed_step() == 0 &&
                            start.resumed_micro() == 0 &&
                            start.checkpoint().empty() &&
                            (meant == nullptr || meant->record.step != 0);
    const uint64_t label = timeline->steps.empty() ? start.resumed_step() + 1
                                                   : timeline->first_step();
    const std::set<uint64_t> content = PositionsOf(*timeline);
    const uint64_t due = newest == nullptr ? 1 : newest->record.step + 1;

    if (newest != nullptr && label != due && content.count(due) > 0 &&
        content.count(label) == 0) {
      // The state is the right one; only its number is not.
      const Fault fault = says_fresh    ? Fault::FAULT_RESET
                          : label < due ? Fault::FAULT_LAG
                                        : Fault::FAULT_LEAD;
      Find(Item::COUNTERS_STEP, fault, i, due, "step numbers",
           absl::StrCat("attempt ", i + 1, " calls its first step ", label,
                        "; its samples, loss and learning rate are those of ",
                        "step ", due, ", the one after the checkpoint"));
      Renumber(i, due - label, timeline);
      return TookUp(*newest);
    }
    if (says_fresh) {
      if (newest != nullptr) {
        Find(Item::SOURCE, Fault::FAULT_NONE, i, 1, "start",
             absl::StrCat("attempt ", i + 1, " started from scratch although ",
                          StepText(newest->record.step, newest->record.micro),
                          " was committed"));
      }
      Abandon(0, 0);
      return Resume{};
    }
    if (meant == nullptr) {
      Find(Item::SOURCE, Fault::FAULT_CHANGED, i, start.resumed_step() + 1,
           "start",
           absl::StrCat("attempt ", i + 1, " says that it resumed ",
                        StepText(start.resumed_step(), start.resumed_micro()),
                        ", which no attempt saved"));
      Resume resume;
      resume.fresh = false;
      resume.step = start.resumed_step();
      resume.micro = start.resumed_micro();
      Abandon(resume.step, resume.micro);
      return resume;
    }
    Saved used = *meant;
    if (start.resumed_step() != used.record.step && label != 0 &&
        label == start.resumed_step() + 1) {
      Find(Item::COUNTERS_STEP,
           start.resumed_step() < used.record.step ? Fault::FAULT_LAG
                                                   : Fault::FAULT_LEAD,
           i, used.record.step + 1, "step numbers",
           absl::StrCat("attempt ", i + 1, " resumed checkpoint ",
                        used.record.checkpoint, " of step ", used.record.step,
                        " and counts from ", start.resumed_step()));
      Renumber(i, used.record.step - start.resumed_step(), timeline);
    } else if (label != used.record.step + 1 && !timeline->steps.empty() &&
               content.count(label) == 0) {
      Find(Item::COUNTERS_STEP,
           label < used.record.step + 1 ? Fault::FAULT_LAG : Fault::FAULT_LEAD,
           i, used.record.step + 1, "step numbers",
           absl::StrCat("attempt ", i + 1, " resumed step ", used.record.step,
                        " and calls its first step ", label));
      Renumber(i, used.record.step + 1 - label, timeline);
    } else if (content.size() == 1 && *content.begin() != label &&
               *content.begin() <= used.record.step) {
      // It says k and everything is another step's.
      const uint64_t position = *content.begin();
      const Fault fault =
          position == 1 ? Fault::FAULT_NONE : Fault::FAULT_STALE;
      Find(Item::SOURCE, fault, i, label, "all channels",
           absl::StrCat("attempt ", i + 1, " says that it resumed step ",
                        used.record.step, "; samples, loss and learning rate ",
                        "are those from step ", position, " on"));
    }
    if (used.abandoned) {
      Find(Item::SOURCE, Fault::FAULT_STALE, i, used.record.step + 1, "start",
           absl::StrCat("attempt ", i + 1, " resumed ",
                        StepText(used.record.step, used.record.micro),
                        " of attempt ", used.attempt + 1,
                        ", which a later resume had abandoned"));
    } else if (newest != nullptr && Later(newest->record, used.record)) {
      Find(Item::SOURCE, Fault::FAULT_STALE, i, used.record.step + 1, "start",
           absl::StrCat("attempt ", i + 1, " resumed ",
                        StepText(used.record.step, used.record.micro),
                        " although ",
                        StepText(newest->record.step, newest->record.micro),
                        " was committed"));
    }
    return TookUp(used);
  }

  Resume TookUp(const Saved& saved) {
    Resume resume;
    resume.fresh = false;
    resume.step = saved.record.step;
    resume.micro = saved.record.micro;
    resume.saved = saved.record.digests;
    const Resume& writer = result_.resumes[saved.attempt];
    if (!writer.fresh) resume.writer_resumed = writer.step;
    Abandon(resume.step, resume.micro);
    return resume;
  }

  void Abandon(uint64_t step, uint64_t micro) {
    for (Saved& saved : saves_) {
      if (std::make_pair<uint64_t, uint64_t>(+saved.record.step,
                                             +saved.record.micro) >
          std::make_pair(step, micro)) {
        saved.abandoned = true;
      }
    }
  }

  void Renumber(size_t i, int64_t offset, Timeline* timeline) {
    // Saves are due by the testee's own count: they no longer fall together.
    renumbered_ = true;
    *timeline = Timeline::From(subject_.attempts[i], offset);
    result_.notes.push_back(absl::StrCat("steps of attempt ", i + 1,
                                         " were renumbered by ", offset,
                                         " before they were compared"));
  }

  void AddSaves(size_t i, const Timeline& timeline) {
    for (const SaveRecord& record : timeline.saves) {
      saves_.push_back({record, i, false});
    }
  }

  void CheckRecords(size_t i, const Timeline& timeline) {
    for (size_t j = 1; j < timeline.steps.size(); ++j) {
      const uint64_t before = timeline.steps[j - 1].step();
      const uint64_t step = timeline.steps[j].step();
      if (step == before + 1) continue;
      Find(Item::RUN, Fault::FAULT_PARTIAL, i, step, "step numbers",
           absl::StrCat("attempt ", i + 1, " records step ", step,
                        " right after step ", before));
      return;
    }
  }

  // Saves that the uninterrupted run commits must be committed here too.
  void CheckSaves(size_t i, const Resume& resume, const Timeline& timeline) {
    const AttemptEvidence& attempt = subject_.attempts[i];
    for (const SaveRecord& save : timeline.saves) {
      if (!save.failed) continue;
      const bool made_up =
          std::any_of(timeline.saves.begin(), timeline.saves.end(),
                      [&](const SaveRecord& other) {
                        return other.committed && !Later(save, other);
                      });
      if (made_up) {
        result_.notes.push_back(absl::StrCat("attempt ", i + 1, ": a save of ",
                                             StepText(save.step, save.micro),
                                             " failed and was made up for"));
      } else if (attempt.exit_code == 0 || attempt.exit_code == kExitStopped) {
        Find(Item::SAVE, Fault::FAULT_FAILED, i, save.step, "saves",
             absl::StrCat("attempt ", i + 1, ": the save of ",
                          StepText(save.step, save.micro), " failed (",
                          save.error.empty() ? "no reason given" : save.error,
                          ") and the run went on to ", ExitText(attempt)));
        return;
      }
    }
    if (context_.baselines.empty() || renumbered_) return;
    std::set<uint64_t> due;
    for (const SaveRecord& save : context_.baselines[0].saves) {
      if (save.committed && save.micro == 0) due.insert(save.step);
    }
    if (due.size() < 2) return;
    const uint64_t interval = *std::next(due.begin()) - *due.begin();
    // A killed process may have had a save in flight, or one waiting behind it.
    const bool ended = attempt.sent == Sent::kNothing;
    const uint64_t slack = ended ? 0 : 2 * interval;
    for (uint64_t step : due) {
      if (step <= resume.step || step + slack > timeline.last_step()) continue;
      const SaveRecord* found = nullptr;
      for (const SaveRecord& save : timeline.saves) {
        if (save.step == step && save.micro == 0 &&
            (found == nullptr || save.committed)) {
          found = &save;
        }
      }
      if (found != nullptr && (found->committed || found->failed)) continue;
      Find(Item::SAVE, Fault::FAULT_FAILED, i, step, "saves",
           absl::StrCat("attempt ", i + 1, ": the save of step ", step,
                        found == nullptr ? " never began" : " never ended",
                        ", though the uninterrupted run commits it and the ",
                        "attempt went on to step ", timeline.last_step()));
      return;
    }
  }

  void CheckExit(size_t i, const Timeline& timeline) {
    const AttemptEvidence& attempt = subject_.attempts[i];
    const bool last = i + 1 == subject_.attempts.size();
    if (!attempt.misbehaved.empty()) {
      Find(Item::RUN, Fault::FAULT_FAILED, i, timeline.last_step(), "process",
           absl::StrCat("attempt ", i + 1, ": ", attempt.misbehaved));
      return;
    }
    if (attempt.signal != 0 && attempt.sent == Sent::kNothing) {
      Find(Item::RUN, Fault::FAULT_FAILED, i, timeline.last_step(), "exit",
           absl::StrCat("attempt ", i + 1, " was ended by signal ",
                        attempt.signal, ", which the harness did not send"));
      return;
    }
    if (!attempt.exit_code.has_value()) return;
    const int code = *attempt.exit_code;
    if (code == 0) {
      if (!last && attempt.sent == Sent::kNothing) {
        result_.notes.push_back(
            absl::StrCat("attempt ", i + 1, " ended before it was killed"));
      }
      return;
    }
    if (code == kExitStopped) {
      if (attempt.sent != Sent::kTerm) {
        Find(Item::RUN, Fault::FAULT_SHORT, i, timeline.last_step(), "exit",
             absl::StrCat("attempt ", i + 1,
                          " stopped with exit status 13 though nobody asked"));
      }
      return;
    }
    if (code == kExitUnsupported) {
      result_.outcome = v1::SKIP;
      result_.notes.push_back(
          "the testee does not support what the case needs");
      return;
    }
    Find(Item::RUN, Fault::FAULT_FAILED, i, timeline.last_step(), "exit",
         absl::StrCat("attempt ", i + 1, " ended with exit status ", code));
  }

  void CheckEnd() {
    if (result_.attempts.empty()) return;
    const size_t i = result_.attempts.size() - 1;
    const Timeline& timeline = result_.attempts[i];
    const AttemptEvidence& attempt = subject_.attempts[i];
    uint64_t planned = context_.workload.planned_steps;
    if (!context_.baselines.empty()) {
      // Early stopping ends the uninterrupted run before its planned steps.
      planned = context_.baselines[0].last_step();
    }
    if (attempt.exit_code != 0) {
      result_.finished = false;
      return;
    }
    const uint64_t last =
        timeline.steps.empty() ? result_.resumes[i].step : timeline.last_step();
    if (planned != 0 && last != planned) {
      const bool longer = last > planned;
      const bool by_rule = planned < context_.workload.planned_steps;
      if (by_rule && context_.noise.Noisy()) {
        // A rule that watches noisy evaluations ends equal runs differently.
        result_.finished = true;
        return;
      }
      if (longer && by_rule) {
        // The uninterrupted run ends by a rule, which came later here.
        result_.findings.push_back(MakeFinding(
            {Name(Item::EARLY_STOP, Fault::FAULT_RESET),
             Name(Item::BEST, Fault::FAULT_RESET)},
            Ground::LINEAGE, i + 1, last, kEndOfTheRun,
            absl::StrCat("the run ended after step ", last,
                         "; the uninterrupted run stops early, after step ",
                         planned)));
        return;
      }
      Find(Item::RUN, longer ? Fault::FAULT_CHANGED : Fault::FAULT_SHORT, i,
           last, kEndOfTheRun,
           absl::StrCat("the run ended with exit status 0 after step ", last,
                        longer ? ", beyond step " : " of ", planned,
                        longer ? ", where the uninterrupted run ends" : ""));
      return;
    }
    if (timeline.end.has_value() && timeline.end->has_finished() &&
        !timeline.end->finished()) {
      Find(Item::RUN, Fault::FAULT_SHORT, i, last, kEndOfTheRun,
           "exit status 0, and the end event says that it is not finished");
      return;
    }
    result_.finished = true;
    CheckNewest(i, timeline);
  }

  void CheckNewest(size_t i, const Timeline& timeline) {
    if (!timeline.end.has_value() || timeline.end->newest().empty()) return;
    const Saved* newest = NewestCommitted();
    if (newest == nullptr || newest->record.checkpoint.empty()) return;
    if (newest->record.checkpoint == timeline.end->newest()) return;
    // Others said to be durable are not there, if it is an older one.
    bool older = false;
    for (const Saved& saved : saves_) {
      older |= saved.record.checkpoint == timeline.end->newest() &&
               Later(newest->record, saved.record);
    }
    Find(Item::SAVE, older ? Fault::FAULT_FAILED : Fault::FAULT_CHANGED, i,
         timeline.last_step(), kEndOfTheRun,
         absl::StrCat("the newest checkpoint is said to be ",
                      timeline.end->newest(), "; the last one committed was ",
                      newest->record.checkpoint));
  }

  const Context& context_;
  const LineageEvidence& subject_;
  std::vector<Saved> saves_;
  bool renumbered_ = false;
  Lineage result_;
};

}  // namespace

Lineage CheckLineage(const Context& context, const LineageEvidence& subject) {
  return Checker(context, subject).Check();
}

}  // namespace reprise::conformance
