#include "trainer/resume_choice.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "trainer/begin_anew.h"
#include "trainer/checkpoint/not_finite.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

bool IsWord(const std::string& resume) {
  return resume == "newest" || resume == "required" || resume == "never";
}

bool LiesIn(const std::string& checkpoint, const std::string& folder) {
  std::error_code error;
  return fs::equivalent(fs::path(checkpoint).parent_path(), folder, error);
}

absl::StatusOr<ResumeChoice> Newest(const std::string& resume,
                                    const std::string& run_folder,
                                    CheckpointStore* store) {
  ResumeChoice choice;
  if (store != nullptr) {
    auto newest = store->NewestVerified();
    if (!newest.ok()) return newest.status();
    for (const CheckpointStore::PassedOver& entry : newest->passed_over) {
      choice.notices.push_back(absl::StrCat("Passed over ", entry.name, ": ",
                                            entry.reason.message()));
    }
    choice.from = std::move(newest->checkpoint);
  }
  if (resume == "required" && !choice.from.has_value()) {
    return MakeRefusal(
        Refusal::ABSENT,
        absl::StrCat(run_folder,
                     ": expected a checkpoint to resume from, found ",
                     store == nullptr ? "no such folder" : "none",
                     "; --resume=newest begins a run"));
  }
  if (resume == "never" && choice.from.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        run_folder, ": expected no run there, found ", choice.from->path));
  }
  return choice;
}

absl::StatusOr<ResumeChoice> Named(const std::string& path,
                                   const std::string& run_folder,
                                   CheckpointStore* store,
                                   FileSystem* file_system) {
  auto read = ReadCheckpoint(path, file_system);
  if (!read.ok()) return read.status();
  ResumeChoice choice;
  choice.from = *std::move(read);
  choice.in_run_folder = LiesIn(path, run_folder);
  if (choice.in_run_folder || store == nullptr) return choice;
  auto there = store->List();
  if (!there.ok()) return there.status();
  if (!there->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--resume=", path,
                     ": expected a run folder without checkpoints, found ",
                     there->size(), " in ", run_folder,
                     "; name another --run_dir, or one of its own steps"));
  }
  return choice;
}

}  // namespace

bool NamesFolder(const std::string& resume) {
  uint64_t step = 0;
  return !IsWord(resume) && !absl::SimpleAtoi(resume, &step);
}

bool ResumeChoice::BeginsAnew(Item item) const {
  return std::count(begin_anew.begin(), begin_anew.end(), item) > 0;
}

absl::StatusOr<ResumeChoice> ChooseCheckpoint(
    const std::string& resume, const std::vector<std::string>& accept_missing,
    const std::string& run_folder, CheckpointStore* store,
    FileSystem* file_system) {
  uint64_t step = 0;
  absl::StatusOr<ResumeChoice> choice =
      IsWord(resume) ? Newest(resume, run_folder, store)
      : absl::SimpleAtoi(resume, &step)
          ? Named(absl::StrCat(run_folder, "/", CheckpointName(step)),
                  run_folder, store, file_system)
          : Named(resume, run_folder, store, file_system);
  if (!choice.ok()) return choice;
  if (!choice->from.has_value()) {
    if (accept_missing.empty()) return choice;
    return absl::InvalidArgumentError(
        absl::StrCat("--accept_missing: expected a checkpoint to resume from, "
                     "found none in ",
                     run_folder));
  }
  const std::string not_finite = NotFinite(choice->from->snapshot);
  if (!not_finite.empty()) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat(choice->from->path, ": run: its state is not finite (",
                     not_finite,
                     "); go on from an earlier one with --resume=STEP"));
  }
  auto accepted = AcceptMissing(MissingFrom(choice->from->snapshot),
                                accept_missing, choice->from->path);
  if (!accepted.ok()) return accepted.status();
  choice->begin_anew = *std::move(accepted);
  return choice;
}

}  // namespace reprise
