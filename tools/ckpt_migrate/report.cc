#include "tools/ckpt_migrate/report.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/refusal.h"
#include "reprise/tools/ckpt_migrate/report.pb.h"
#include "tools/ckpt/console.h"

namespace reprise::ckpt_migrate {
namespace {

constexpr size_t kWidth = 78;
// Lines of one step that are shown without --explain.
constexpr size_t kNotes = 12;

std::string Count(size_t n, absl::string_view what) {
  return absl::StrCat(n, " ", what, n == 1 ? "" : "s");
}

// Words in lines of the screen's width, each after `indent`, the first after
// `first`.
std::string Wrapped(const std::string& text, const std::string& indent,
                    const std::string& first) {
  std::string result;
  std::string line = first;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (line.size() + word.size() > kWidth && line.size() > indent.size()) {
      line.pop_back();
      absl::StrAppend(&result, line, "\n");
      line = indent;
    }
    absl::StrAppend(&line, word, " ");
    at = end + 1;
  }
  line.pop_back();
  return absl::StrCat(result, line, "\n");
}

std::string Wrapped(const std::string& text, const std::string& indent) {
  return Wrapped(text, indent, indent);
}

std::string Versions(const MigratedCheckpoint& checkpoint) {
  if (checkpoint.steps.empty()) {
    return absl::StrCat("v", checkpoint.to_major, " as it is");
  }
  if (checkpoint.from_major == checkpoint.to_major) {
    return absl::StrCat("v", checkpoint.to_major, " renamed");
  }
  return absl::StrCat("v", checkpoint.from_major, " -> v", checkpoint.to_major);
}

std::string HowItCame(const MigratedRun& run,
                      const MigratedCheckpoint& checkpoint) {
  if (run.outcome != MigrationOutcome::kMigrated) return "";
  if (checkpoint.was_there) return ", there from an interrupted migration";
  std::vector<std::string> ways;
  const WrittenMigration& written = checkpoint.written;
  if (written.linked > 0) ways.push_back("linked");
  if (written.copied > 0) ways.push_back("copied");
  if (written.written > 0) ways.push_back("written");
  return absl::StrCat(", ", absl::StrJoin(ways, " and "));
}

// Texts that several checkpoints share, with the names of those.
class Shared {
 public:
  void Add(const std::string& text, const std::string& name) {
    auto [at, is_new] = names_.emplace(text, std::vector<std::string>());
    if (is_new) order_.push_back(text);
    at->second.push_back(name);
  }
  // "" where it is all of `total`, else " (step-..., step-...)".
  std::string Of(const std::string& text, size_t total) const {
    const std::vector<std::string>& names = names_.at(text);
    if (names.size() == total) return "";
    return names.size() > 3
               ? absl::StrCat(" (", names.size(), " checkpoints)")
               : absl::StrCat(" (", absl::StrJoin(names, ", "), ")");
  }
  const std::vector<std::string>& texts() const { return order_; }

 private:
  std::map<std::string, std::vector<std::string>> names_;
  std::vector<std::string> order_;
};

std::string StepText(const MigrationStepReport& step, bool explain) {
  std::string text;
  const size_t shown =
      explain ? step.notes.size() : std::min(step.notes.size(), kNotes);
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&text, Wrapped(step.notes[i], "      ", "    - "));
  }
  if (shown < step.notes.size()) {
    absl::StrAppend(&text, "    - and ", step.notes.size() - shown,
                    " more (--explain shows them)\n");
  }
  return text;
}

std::string StepTitle(const MigrationStepReport& step) {
  return step.from_major == step.to_major
             ? absl::StrCat("Renaming in v", step.to_major)
             : absl::StrCat("v", step.from_major, " -> v", step.to_major);
}

std::string StepsText(const MigratedRun& run, bool explain) {
  Shared steps;
  std::map<std::string, std::string> bodies;
  for (const MigratedCheckpoint& checkpoint : run.checkpoints) {
    for (const MigrationStepReport& step : checkpoint.steps) {
      const std::string body = StepText(step, explain);
      const std::string key =
          absl::StrCat(StepTitle(step), " did this", "\n", body);
      steps.Add(key, checkpoint.name);
    }
  }
  std::string text;
  for (const std::string& key : steps.texts()) {
    const size_t end = key.find('\n');
    absl::StrAppend(&text, "\n", key.substr(0, end),
                    steps.Of(key, run.checkpoints.size()), ":\n",
                    key.substr(end + 1));
  }
  return text;
}

std::string LackingText(const MigratedRun& run, bool explain) {
  Shared lacking;
  for (const MigratedCheckpoint& checkpoint : run.checkpoints) {
    std::string body;
    if (explain) {
      for (const LackingItem& item : checkpoint.lacking) {
        absl::StrAppend(&body, "    ", TextOf(item.item), ": ", item.reason,
                        "\n");
      }
    } else {
      std::vector<std::string> names;
      for (const LackingItem& item : checkpoint.lacking) {
        names.push_back(std::string(TextOf(item.item)));
      }
      if (!names.empty()) body = Wrapped(absl::StrJoin(names, ", "), "    ");
    }
    lacking.Add(body, checkpoint.name);
  }
  std::string text;
  for (const std::string& body : lacking.texts()) {
    const std::string which = lacking.Of(body, run.checkpoints.size());
    if (body.empty()) {
      absl::StrAppend(&text, "\nNothing is missing for an exact resume", which,
                      ".\n");
      continue;
    }
    absl::StrAppend(&text, "\nMissing for an exact resume", which, ":\n", body,
                    "  A trainer that knows what its older runs had accepts "
                    "these by name.\n");
  }
  return text;
}

std::string TensorsText(const MigratedRun& run) {
  uint64_t tensors = 0;
  bool linked = false;
  bool written = false;
  for (const MigratedCheckpoint& checkpoint : run.checkpoints) {
    tensors += checkpoint.tensors;
    linked |= checkpoint.written.linked > 0;
    written |= checkpoint.written.written + checkpoint.written.copied > 0 ||
               checkpoint.was_there;
  }
  std::string text =
      absl::StrCat("\n", Count(tensors, "tensor"),
                   ": the digest of each is the same before and after.\n");
  if (run.outcome != MigrationOutcome::kMigrated) return text;
  if (written) {
    absl::StrAppend(&text, "  What was written was read back and compared.\n");
  }
  if (linked) {
    absl::StrAppend(
        &text,
        "  Linked files are one with the source's (shares storage): "
        "damage to one\n  damages both. --copy avoids it. --verify reads\n  "
        "their bytes first.\n");
  }
  return text;
}

std::string NamesText(const MigratedRun& run) {
  std::string text;
  if (!run.carried.empty()) {
    absl::StrAppend(&text,
                    run.outcome == MigrationOutcome::kPlanned
                        ? "\nWould go along:\n"
                        : "\nCopied along:\n",
                    Wrapped(absl::StrJoin(run.carried, ", "), "    "));
  }
  if (!run.not_carried.empty()) {
    absl::StrAppend(&text, "\nLeft where it is:\n",
                    Wrapped(absl::StrJoin(run.not_carried, ", "), "    "));
  }
  return text;
}

std::string LastLine(const std::string& source, const MigratedRun& run) {
  switch (run.outcome) {
    case MigrationOutcome::kMigrated:
      return absl::StrCat("\nDone: ", run.out, ". Nothing in ", source,
                          " was changed.\n");
    case MigrationOutcome::kPlanned:
      return absl::StrCat("\nDry run: nothing was written. It would go to ",
                          run.out, ".\n");
    case MigrationOutcome::kNothingToDo:
      return absl::StrCat(
          "Nothing to do: ", run.checkpoints.size() == 1 ? "it is" : "all are",
          " v", run.checkpoints.front().to_major,
          " already. Nothing was written.\n");
    case MigrationOutcome::kWasDoneBefore:
      return absl::StrCat("Done before: ", run.out,
                          " has this migration already. Nothing was "
                          "written.\n");
  }
  return "";
}

std::string OutcomeName(MigrationOutcome outcome) {
  switch (outcome) {
    case MigrationOutcome::kMigrated:
      return "MIGRATED";
    case MigrationOutcome::kPlanned:
      return "PLANNED";
    case MigrationOutcome::kNothingToDo:
      return "NOTHING_TO_DO";
    case MigrationOutcome::kWasDoneBefore:
      return "WAS_DONE_BEFORE";
  }
  return "";
}

std::string AsJson(const Report& report) {
  std::ostringstream json;
  ckpt::PrintJson(report, json);
  return json.str();
}

void FillCheckpoint(const MigratedCheckpoint& from, Checkpoint* to) {
  to->set_source(from.source);
  to->set_name(from.name);
  to->set_step(from.step);
  to->set_micro_step(from.micro_step);
  to->set_from_major(from.from_major);
  to->set_to_major(from.to_major);
  for (const MigrationStepReport& step : from.steps) {
    Step* out = to->add_steps();
    out->set_from_major(step.from_major);
    out->set_to_major(step.to_major);
    out->set_program(step.program);
    for (const std::string& note : step.notes) out->add_notes(note);
  }
  to->set_manifest_digest(absl::BytesToHexString(from.manifest_digest));
  to->set_value_digest(absl::BytesToHexString(from.value_digest));
  to->set_tensors(from.tensors);
  to->set_tensor_bytes(from.tensor_bytes);
  for (const LackingItem& item : from.lacking) {
    Lacking* out = to->add_lacking();
    out->set_item(std::string(TextOf(item.item)));
    out->set_reason(item.reason);
  }
  if (from.highest_level != vocab::RESUME_LEVEL_UNSPECIFIED) {
    to->set_highest_level(std::string(TextOf(from.highest_level)));
  }
  to->set_was_there(from.was_there);
  to->set_files_linked(from.written.linked);
  to->set_files_copied(from.written.copied);
  to->set_files_written(from.written.written);
  to->set_why_copied(from.written.why_copied);
}

}  // namespace

std::string TextReport(const std::string& source, const MigratedRun& run,
                       bool explain) {
  std::string text = absl::StrCat(
      source, ": ", Count(run.checkpoints.size(), "checkpoint"), "\n");
  for (const MigratedCheckpoint& checkpoint : run.checkpoints) {
    absl::StrAppend(&text, "  ", checkpoint.name, "  ", Versions(checkpoint),
                    "  ", Count(checkpoint.tensors, "tensor"), ", ",
                    ckpt::HumanBytes(checkpoint.tensor_bytes),
                    HowItCame(run, checkpoint), "\n");
    if (!checkpoint.written.why_copied.empty()) {
      absl::StrAppend(&text,
                      Wrapped(absl::StrCat("could not be linked: ",
                                           checkpoint.written.why_copied),
                              "      "));
    }
  }
  if (run.outcome == MigrationOutcome::kMigrated ||
      run.outcome == MigrationOutcome::kPlanned) {
    absl::StrAppend(&text, StepsText(run, explain), LackingText(run, explain),
                    TensorsText(run), NamesText(run));
  }
  absl::StrAppend(&text, LastLine(source, run));
  return text;
}

std::string JsonReport(const std::string& source, const MigratedRun& run) {
  Report report;
  report.set_source(source);
  report.set_out(run.out);
  report.set_outcome(OutcomeName(run.outcome));
  for (const MigratedCheckpoint& checkpoint : run.checkpoints) {
    FillCheckpoint(checkpoint, report.add_checkpoints());
  }
  for (const std::string& name : run.carried) report.add_carried(name);
  for (const std::string& name : run.not_carried) report.add_not_carried(name);
  return AsJson(report);
}

std::string JsonFailure(const std::string& source, const std::string& out,
                        const absl::Status& status, ExitCode exit_code) {
  Report report;
  report.set_source(source);
  report.set_out(out);
  report.set_outcome("FAILED");
  const Refusal refusal = RefusalOf(status);
  if (refusal != Refusal::REFUSAL_UNSPECIFIED) {
    report.set_refusal(std::string(TextOf(refusal)));
  }
  report.set_error(std::string(status.message()));
  report.set_exit_code(exit_code);
  return AsJson(report);
}

}  // namespace reprise::ckpt_migrate
