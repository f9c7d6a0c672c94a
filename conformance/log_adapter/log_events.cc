#include "conformance/log_adapter/log_events.h"

#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/protocol/number.h"

namespace reprise::conformance {
namespace {

using v1::LinePattern;
using v1::SaveEvent;

// Steps are printed as integers, sometimes with thousands separated.
std::optional<uint64_t> Integer(std::string text) {
  std::string digits;
  for (const char c : text) {
    if (c != ',' && c != '_') digits += c;
  }
  uint64_t value;
  if (absl::SimpleAtoi(digits, &value)) return value;
  return std::nullopt;
}

// Epochs are often printed as fractions: those that were completed.
std::optional<uint64_t> WholePart(const std::string& text) {
  double value;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0) || value > 1e15) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(std::floor(value));
}

bool IsDigest(const std::string& text) {
  return text.size() == 16 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void SetIds(const std::string& text, v1::StepEvent* step) {
  if (IsDigest(text)) {
    step->set_ids(text);
    return;
  }
  for (absl::string_view part :
       absl::StrSplit(text, absl::ByAnyChar(" ,;[]()\t"), absl::SkipEmpty())) {
    uint64_t id;
    if (!absl::SimpleAtoi(part, &id)) {
      // Half a list would look like another batch.
      step->clear_id_list();
      return;
    }
    step->add_id_list(id);
  }
}

// Of a checkpoint that only the log tells of.
std::string NameOf(uint64_t step, const std::string& name) {
  return name.empty() ? absl::StrCat("step-", step) : name;
}

bool Truth(const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  return !lower.empty() && lower != "0" && lower != "false" && lower != "no";
}

}  // namespace

LogEvents::LogEvents(const v1::Adapter& adapter,
                     const Placeholders& placeholders, Start start,
                     std::function<void(const Event&)> sink)
    : start_(std::move(start)),
      sink_(std::move(sink)),
      commits_by_file_(adapter.checkpoints().commit_when_closed()),
      planned_(start_.planned_steps) {
  Placeholders quoted;
  for (const auto& [name, value] : placeholders) {
    quoted[name] = RE2::QuoteMeta(value);
  }
  for (const LinePattern& line : adapter.lines()) {
    patterns_.push_back(
        {line, std::make_unique<RE2>(FillIn(line.regex(), quoted))});
    has_finished_pattern_ =
        has_finished_pattern_ || line.kind() == LinePattern::FINISHED;
  }
  // Without a checkpoint there is nothing to go on from.
  if (start_.found.empty()) Begin(0);
}

bool LogEvents::Match(const Pattern& pattern, const std::string& line,
                      Groups* groups) {
  const RE2& regex = *pattern.regex;
  const int count = regex.NumberOfCapturingGroups() + 1;
  std::vector<re2::StringPiece> parts(count);
  if (!regex.Match(line, 0, line.size(), RE2::UNANCHORED, parts.data(),
                   count)) {
    return false;
  }
  for (const auto& [name, number] : regex.NamedCapturingGroups()) {
    const re2::StringPiece part = parts[number];
    if (part.data() != nullptr && !part.empty()) {
      (*groups)[name] = std::string(part.data(), part.size());
    }
  }
  return true;
}

void LogEvents::TakeLine(const std::string& line) {
  for (const Pattern& pattern : patterns_) {
    Groups groups;
    if (!Match(pattern, line, &groups)) continue;
    switch (pattern.line.kind()) {
      case LinePattern::STEP:
        TakeStep(pattern.line, groups);
        break;
      case LinePattern::CARRY:
        TakeCarry(pattern.line, groups);
        break;
      case LinePattern::EVALUATION:
        TakeEvaluation(pattern.line, groups);
        break;
      case LinePattern::SAVE_BEGUN:
      case LinePattern::SAVE_COMMITTED:
        TakeSave(pattern.line, groups);
        break;
      case LinePattern::RESUMED:
        TakeResumed(pattern.line, groups);
        break;
      case LinePattern::FINISHED:
        finished_line_ = true;
        break;
      default:
        break;
    }
  }
}

std::optional<uint64_t> LogEvents::StepOf(const LinePattern& line,
                                          const Groups& groups) const {
  const auto found = groups.find("step");
  if (found == groups.end()) return std::nullopt;
  const std::optional<uint64_t> printed = Integer(found->second);
  if (!printed.has_value()) return std::nullopt;
  const int64_t step = static_cast<int64_t>(*printed) + line.step_offset();
  if (step < 0) return std::nullopt;
  return step;
}

void LogEvents::TakeStep(const LinePattern& line, const Groups& groups) {
  switch (line.step_from()) {
    case LinePattern::COUNT:
      if (!begun_) Begin(start_.found.back().step.value_or(0));
      return EmitStep(last_step_ + 1, groups);
    case LinePattern::LAST_CARRY:
      return EmitStep(carried_step_.value_or(last_step_ + 1), groups);
    case LinePattern::NEXT_CARRY:
      waiting_step_ = groups;
      return;
    default:
      break;
  }
  const std::optional<uint64_t> step = StepOf(line, groups);
  if (step.has_value()) EmitStep(*step, groups);
}

void LogEvents::TakeCarry(const LinePattern& line, const Groups& groups) {
  for (const auto& [name, value] : groups) {
    if (name != "step") carried_[name] = value;
  }
  const std::optional<uint64_t> step = StepOf(line, groups);
  if (step.has_value()) carried_step_ = step;
  if (waiting_step_.has_value() && carried_step_.has_value()) {
    const Groups values = *std::exchange(waiting_step_, std::nullopt);
    EmitStep(*carried_step_, values);
  }
}

void LogEvents::EmitStep(uint64_t step, const Groups& groups) {
  Groups values = std::exchange(carried_, Groups());
  for (const auto& [name, value] : groups) values[name] = value;
  // The first step that is seen tells what the run went on from.
  if (const auto total = values.find("total"); total != values.end()) {
    planned_ = Integer(total->second);
  }
  Begin(step > 0 ? step - 1 : 0);
  last_step_ = step;
  Event event;
  v1::StepEvent* one = event.mutable_step();
  one->set_step(step);
  for (const auto& [name, value] : values) {
    if (name == "loss") *one->mutable_loss() = NumberOfText(value);
    if (name == "scale") *one->mutable_scale() = NumberOfText(value);
    if (name == "grad_norm") *one->mutable_grad_norm() = NumberOfText(value);
    if (name == "update_norm") {
      *one->mutable_update_norm() = NumberOfText(value);
    }
    // In the order of their names: lr before lr2.
    if (name == "lr" || name == "lr2") *one->add_lr() = NumberOfText(value);
    if (name == "skipped") one->set_skipped(Truth(value));
    if (name == "ids") SetIds(value, one);
    const auto set = [&value](auto setter, bool fraction) {
      const auto number = fraction ? WholePart(value) : Integer(value);
      if (number.has_value()) setter(*number);
    };
    if (name == "epoch") set([&](uint64_t n) { one->set_epoch(n); }, true);
    if (name == "samples") set([&](uint64_t n) { one->set_samples(n); }, false);
    if (name == "applied") set([&](uint64_t n) { one->set_applied(n); }, false);
  }
  Emit(event);
}

void LogEvents::TakeEvaluation(const LinePattern& line, const Groups& groups) {
  const std::optional<uint64_t> step = StepOf(line, groups);
  if (step.has_value()) {
    Begin(*step);
    last_step_ = *step;
  }
  Event event;
  v1::EvaluationEvent* one = event.mutable_evaluation();
  one->set_step(last_step_);
  for (const auto& [name, value] : groups) {
    if (name == "loss") *one->mutable_loss() = NumberOfText(value);
    if (name == "ema_loss") *one->mutable_ema_loss() = NumberOfText(value);
    if (name == "metric") *one->mutable_metric() = NumberOfText(value);
    if (name == "best") *one->mutable_best() = NumberOfText(value);
  }
  Emit(event);
}

void LogEvents::TakeSave(const LinePattern& line, const Groups& groups) {
  const std::optional<uint64_t> step = StepOf(line, groups);
  const auto name = groups.find("name");
  if (line.kind() == LinePattern::SAVE_COMMITTED) {
    return CommitAs(step, name == groups.end() ? "" : name->second);
  }
  CheckpointFile file;
  file.step = step;
  SaveBegun(file);
}

void LogEvents::TakeResumed(const LinePattern& line, const Groups& groups) {
  const auto name = groups.find("name");
  if (name != groups.end()) resumed_name_ = name->second;
  const std::optional<uint64_t> step = StepOf(line, groups);
  if (!step.has_value()) return;
  Begin(*step);
  last_step_ = *step;
}

void LogEvents::SaveBegun(const CheckpointFile& file) {
  // A line and the file may both tell of one save.
  if (open_save_.has_value()) return;
  if (!commits_by_file_ && !file.path.empty()) {
    // A file that is seen only after the line that said it was saved.
    if (!file.step.has_value() || file.step == committed_step_) return;
  }
  open_save_ = file.step.value_or(last_step_);
  Event event;
  event.mutable_save()->set_phase(SaveEvent::BEGUN);
  event.mutable_save()->set_step(*open_save_);
  Emit(event);
}

void LogEvents::SaveCommitted(const CheckpointFile& file) {
  if (!open_save_.has_value()) SaveBegun(file);
  CommitAs(file.step, file.identity);
}

void LogEvents::CommitAs(std::optional<uint64_t> step,
                         const std::string& name) {
  Event event;
  SaveEvent* save = event.mutable_save();
  save->set_phase(SaveEvent::COMMITTED);
  save->set_step(step.value_or(open_save_.value_or(last_step_)));
  save->set_checkpoint(NameOf(save->step(), name));
  open_save_.reset();
  committed_step_ = save->step();
  newest_ = save->checkpoint();
  Emit(event);
}

void LogEvents::Begin(uint64_t resumed) {
  if (begun_) return;
  begun_ = true;
  last_step_ = resumed;
  Event event;
  v1::StartEvent* start = event.mutable_start();
  start->set_run_id(start_.run_id);
  start->set_resumed_step(resumed);
  if (planned_.has_value()) start->set_planned_steps(*planned_);
  // Which file it was is known when it was given or told by name, when its name
  // has the step that the run goes on from, or when there is only one.
  if (resumed > 0 && !commits_by_file_) {
    start->set_checkpoint(NameOf(resumed, resumed_name_));
  } else if (resumed > 0) {
    for (const CheckpointFile& file : start_.found) {
      const bool only = start_.found.size() == 1;
      const bool named =
          (start_.newest_was_named && &file == &start_.found.back()) ||
          (!resumed_name_.empty() &&
           (absl::StrContains(file.path, resumed_name_) ||
            absl::StrContains(resumed_name_, file.path)));
      if (only || named || file.step == resumed) {
        start->set_checkpoint(file.identity);
      }
    }
  }
  sink_(event);
  for (const Event& waited : std::exchange(waiting_, {})) sink_(waited);
}

void LogEvents::Emit(Event event) {
  if (begun_) {
    sink_(event);
  } else {
    waiting_.push_back(std::move(event));
  }
}

void LogEvents::Note(const std::string& text) {
  Event event;
  event.mutable_note()->set_text(text);
  Emit(event);
}

void LogEvents::Finish() {
  if (waiting_step_.has_value()) {
    const Groups values = *std::exchange(waiting_step_, std::nullopt);
    EmitStep(last_step_ + 1, values);
  }
}

bool LogEvents::SaysFinished() const {
  if (has_finished_pattern_) return finished_line_;
  return planned_.has_value() && last_step_ >= *planned_;
}

void LogEvents::End(bool finished) {
  // A run that was complete when it was resumed tells of no step.
  if (!begun_) Begin(start_.found.back().step.value_or(0));
  Event event;
  event.mutable_end()->set_step(last_step_);
  event.mutable_end()->set_finished(finished);
  event.mutable_end()->set_newest(newest_);
  Emit(event);
}

}  // namespace reprise::conformance
