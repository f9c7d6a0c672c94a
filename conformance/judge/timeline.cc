#include "conformance/judge/timeline.h"

#include <utility>

namespace reprise::conformance {
namespace {

Digests ToDigests(const v1::StateEvent& state) {
  Digests digests;
  for (const v1::ItemDigest& digest : state.digests()) {
    digests[digest.item()] = digest;
  }
  return digests;
}

// The same rates to the last bit; false when bits are not given.
bool SameRates(const v1::StepEvent& a, const v1::StepEvent& b) {
  if (a.lr_size() == 0 || a.lr_size() != b.lr_size()) return false;
  for (int i = 0; i < a.lr_size(); ++i) {
    if (a.lr(i).bits().empty() || a.lr(i).bits() != b.lr(i).bits()) {
      return false;
    }
  }
  return true;
}

// Sets `skipped` from the learning rates. The last step stays unsaid.
void InferSkips(std::vector<v1::StepEvent>* steps) {
  // Of a schedule that seldom moves a rate that rests says nothing.
  constexpr double kMoves = 0.7;
  size_t moves = 0;
  for (size_t i = 0; i + 1 < steps->size(); ++i) {
    if ((*steps)[i].has_skipped() || (*steps)[i].lr_size() == 0 ||
        (*steps)[i].lr(0).bits().empty()) {
      return;
    }
    moves += !SameRates((*steps)[i], (*steps)[i + 1]);
  }
  if (steps->size() < 5 ||
      static_cast<double>(moves) <
          kMoves * static_cast<double>(steps->size() - 1)) {
    return;
  }
  for (size_t i = 0; i + 1 < steps->size(); ++i) {
    (*steps)[i].set_skipped(SameRates((*steps)[i], (*steps)[i + 1]));
  }
}

}  // namespace

Timeline Timeline::From(const AttemptEvidence& attempt, int64_t offset) {
  Timeline timeline;
  // Digests of the last AT_SAVE state, until a save of the same step takes
  // them.
  std::map<std::pair<uint64_t, uint32_t>, Digests> at_save;
  for (const v1::Event& event : attempt.events) {
    switch (event.kind_case()) {
      case v1::Event::kStart:
        timeline.started = true;
        timeline.start = event.start();
        break;
      case v1::Event::kStep:
        timeline.steps.push_back(event.step());
        timeline.steps.back().set_step(event.step().step() + offset);
        break;
      case v1::Event::kEvaluation: {
        v1::EvaluationEvent& evaluation =
            timeline.evaluations[event.evaluation().step() + offset];
        evaluation = event.evaluation();
        evaluation.set_step(evaluation.step() + offset);
        break;
      }
      case v1::Event::kSave: {
        const v1::SaveEvent& save = event.save();
        const uint64_t step = save.step() + offset;
        SaveRecord* record = nullptr;
        for (SaveRecord& known : timeline.saves) {
          if (known.step == step && known.micro == save.micro() &&
              !known.committed && !known.failed) {
            record = &known;
          }
        }
        if (record == nullptr) {
          record = &timeline.saves.emplace_back();
          record->step = step;
          record->micro = save.micro();
        }
        if (!save.checkpoint().empty()) record->checkpoint = save.checkpoint();
        if (auto state = at_save.find({step, save.micro()});
            state != at_save.end()) {
          record->digests = state->second;
        }
        record->committed |= save.phase() == v1::SaveEvent::COMMITTED;
        if (save.phase() == v1::SaveEvent::FAILED) {
          record->failed = true;
          record->error = save.error();
        }
        break;
      }
      case v1::Event::kState: {
        const v1::StateEvent& state = event.state();
        const uint64_t step = state.step() + offset;
        if (state.moment() == v1::StateEvent::AT_SAVE) {
          at_save[{step, state.micro()}] = ToDigests(state);
          for (SaveRecord& known : timeline.saves) {
            if (known.step == step && known.micro == state.micro() &&
                !known.committed && !known.failed) {
              known.digests = at_save[{step, state.micro()}];
            }
          }
        } else if (state.moment() == v1::StateEvent::AFTER_LOAD) {
          timeline.after_load = ToDigests(state);
        } else if (state.moment() == v1::StateEvent::BEFORE_FORWARD &&
                   timeline.before_forward.empty()) {
          timeline.before_forward = ToDigests(state);
        }
        break;
      }
      case v1::Event::kEnd:
        timeline.end = event.end();
        timeline.end->set_step(event.end().step() + offset);
        break;
      default:
        break;
    }
  }
  InferSkips(&timeline.steps);
  return timeline;
}

const v1::StepEvent* Timeline::Find(uint64_t step) const {
  // Steps are nearly always consecutive: look there first.
  if (!steps.empty() && step >= first_step()) {
    const uint64_t index = step - first_step();
    if (index < steps.size() && steps[index].step() == step) {
      return &steps[index];
    }
  }
  for (const v1::StepEvent& record : steps) {
    if (record.step() == step) return &record;
  }
  return nullptr;
}

const v1::EvaluationEvent* Timeline::FindEvaluation(uint64_t step) const {
  auto found = evaluations.find(step);
  return found == evaluations.end() ? nullptr : &found->second;
}

}  // namespace reprise::conformance
