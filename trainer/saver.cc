#include "trainer/saver.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/non_finite.h"
#include "format/run_layout.h"
#include "trainer/checkpoint/next_loss.h"
#include "trainer/checkpoint/not_finite.h"

namespace reprise {
namespace {

CheckpointPosition PositionOf(const Snapshot& snapshot) {
  return reprise::PositionOf(snapshot.step, snapshot.micro_step());
}

bool Same(const CheckpointPosition& a, const CheckpointPosition& b) {
  return !(a < b) && !(b < a);
}

std::string NameOf(const CheckpointPosition& p) {
  return CheckpointName(p.step, p.micro.value_or(0));
}

std::string TextOf(const CheckpointPosition& p) {
  return p.micro.has_value()
             ? absl::StrCat("step ", p.step, " and ", *p.micro, " micro-steps")
             : absl::StrCat("step ", p.step);
}

}  // namespace

Saver::Saver(Parts parts)
    : parts_(std::move(parts)),
      copier_(parts_.copier),
      saved_(parts_.resumed_from) {
  if (saved_.has_value()) {
    next_[NameOf(*saved_)] = {saved_->step + 1, parts_.resumed_digest, {}};
  }
}

absl::Status Saver::Save(const TrainState& state, bool wait) {
  if (auto s = Poll(); !s.ok()) return s;
  const CheckpointPosition here =
      reprise::PositionOf(state.attempted, state.accumulation.count);
  if (!saved_.has_value() || !Same(*saved_, here)) {
    // The log first: a committed step is in it even after a power cut.
    if (auto s = parts_.metrics->Sync(); !s.ok()) return s;
    std::optional<StagedTensors> staged;
    std::optional<Snapshot> snapshot = Stage(state, &staged);
    not_finite_.clear();
    if (!snapshot.has_value()) {
      snapshot = Capture(state);
      not_finite_ = MarkNotFinite(&*snapshot);
    }
    // The run ends with one that is not finite: it is on the disk before.
    const bool behind =
        parts_.config->background() && !wait && not_finite_.empty();
    if (behind && parts_.config->when_busy() == "skip" &&
        parts_.store->IsSaving()) {
      parts_.progress->Print(
          absl::StrCat("Skipped the save of ", TextOf(here),
                       ": the one before is still being written"));
      return absl::OkStatus();
    }
    // Waits for the one before: its end is reported before this begins, and its
    // pinned memory is free.
    if (auto s = Settle(); !s.ok()) return s;
    if (staged.has_value()) {
      if (auto s = staged->Start(); !s.ok()) {
        parts_.progress->Print(absl::StrCat(
            "Snapshots are plain copies from here on, which training waits "
            "for: ",
            s.message()));
        copier_ = nullptr;
        staged.reset();
        snapshot = Capture(state);
      }
    }
    if (auto s = behind ? SaveBehind(*snapshot, staged.has_value())
                        : SaveNow(*snapshot);
        !s.ok()) {
      return s;
    }
  }
  return wait ? Settle() : absl::OkStatus();
}

std::optional<Snapshot> Saver::Stage(
    const TrainState& state, std::optional<StagedTensors>* staged) const {
  if (copier_ == nullptr) return std::nullopt;
  staged->emplace(copier_);
  Snapshot snapshot =
      CaptureState(state, *parts_.schedule, parts_.run, (*staged)->View());
  if ((*staged)->AllFinite() &&
      (!snapshot.scaler.has_value() || std::isfinite(snapshot.scaler->scale))) {
    return snapshot;
  }
  // Plain copies, in which what is not finite can be named.
  staged->reset();
  return std::nullopt;
}

absl::Status Saver::SaveNow(const Snapshot& snapshot) {
  const TimeBudget clock;
  const CheckpointPosition here = PositionOf(snapshot);
  parts_.observer->OnSaveBegin(snapshot);
  const auto digest = parts_.store->Save(snapshot);
  parts_.observer->OnSaveEnd(here.step, here.micro.value_or(0), digest);
  if (!digest.ok()) return digest.status();
  saved_ = here;
  next_[NameOf(here)] = {here.step + 1, {}, {}};
  Committed(NameOf(here), *digest);
  parts_.budget->SaveTook(clock.Elapsed());
  // A state that is not finite takes no other's place.
  if (!not_finite_.empty()) return absl::OkStatus();
  const auto removed = parts_.store->Prune();
  if (removed.ok()) Removed(*removed);
  PrintNotices();
  return removed.status();
}

absl::Status Saver::SaveBehind(const Snapshot& snapshot, bool staged) {
  const CheckpointPosition here = PositionOf(snapshot);
  AsyncSaveOptions options;
  options.prune = true;
  if (staged) options.tensors = AsyncSaveOptions::Tensors::kHandedOver;
  parts_.observer->OnSaveBegin(snapshot);
  const auto started = parts_.store->SaveAsync(snapshot, options);
  if (!started.ok()) {
    parts_.observer->OnSaveEnd(here.step, here.micro.value_or(0),
                               started.status());
    return started.status();
  }
  saved_ = in_flight_ = here;
  next_[NameOf(here)] = {here.step + 1, {}, {}};
  return absl::OkStatus();
}

absl::Status Saver::Poll() {
  if (!in_flight_.has_value() || parts_.store->IsSaving()) {
    return absl::OkStatus();
  }
  return Settle();
}

absl::Status Saver::Settle() {
  if (!in_flight_.has_value()) return absl::OkStatus();
  const CheckpointPosition awaited = *in_flight_;
  in_flight_.reset();
  const absl::Status status = parts_.store->Wait();
  bool committed = false;
  for (const CommittedSave& save : parts_.store->TakeCommitted()) {
    parts_.observer->OnSaveEnd(save.step, save.micro, save.manifest_digest);
    Committed(save.name, save.manifest_digest);
    Removed(save.pruned);
    parts_.budget->SaveTook(save.seconds);
    committed = true;
  }
  PrintNotices();
  if (!status.ok() && !committed) {
    parts_.observer->OnSaveEnd(awaited.step, awaited.micro.value_or(0), status);
    saved_.reset();
  }
  return status;
}

absl::Status Saver::CheckFinite() const {
  if (not_finite_.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "the state of ", saved_.has_value() ? TextOf(*saved_) : "this step",
      " is not finite (", not_finite_,
      "). Its checkpoint is marked and will not be resumed from; go on from an "
      "earlier one with --resume=STEP, and lower optimizer.lr or raise the "
      "precision"));
}

void Saver::Committed(const std::string& name, const std::string& digest) {
  const auto position = ParseCheckpointName(name);
  if (position.has_value()) {
    parts_.progress->Print(
        absl::StrCat("Saved ", TextOf(*position),
                     not_finite_.empty() ? "" : ", marked: not finite"));
  }
  next_[name].digest = digest;
  WriteNextLoss(name);
}

void Saver::Removed(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    RemoveNextLoss(parts_.store->run_folder(), name);
    next_.erase(name);
  }
}

void Saver::StepDone(const StepEvent& event) {
  std::vector<std::string> names;
  for (auto& [name, next] : next_) {
    if (next.step != event.step) continue;
    next.loss = event.loss;
    names.push_back(name);
  }
  for (const std::string& name : names) WriteNextLoss(name);
}

void Saver::WriteNextLoss(const std::string& name) {
  const auto found = next_.find(name);
  if (found == next_.end() || !found->second.digest.has_value() ||
      !found->second.loss.has_value()) {
    return;
  }
  const absl::Status status = reprise::WriteNextLoss(
      parts_.store->run_folder(), name,
      {*found->second.digest, found->second.step, *found->second.loss});
  // Never a reason to stop: it is a check more, not state.
  if (!status.ok()) parts_.progress->Print(status.message());
  next_.erase(found);
}

void Saver::PrintNotices() {
  for (const std::string& notice : parts_.store->TakeNotices()) {
    parts_.progress->Print(notice);
  }
}

}  // namespace reprise
