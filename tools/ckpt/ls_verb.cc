#include "tools/ckpt/ls_verb.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/run_listing.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/inspect.h"
#include "tools/ckpt/locate.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Lists the checkpoints of a run folder, and of the branches that were abandoned
when an attempt went on from an earlier one. Reads the small parts of manifests
only, so "not read" says nothing about tensors; --verify reads everything. Takes
no lock: a run may be training meanwhile.

Ends with 0 when the run could be listed, whatever is in the list: "state" of
--json says what is damaged as far as it was looked at. For a script that asks
whether all is well, --verify ends with 11 where anything is not (as does ckpt
verify).

"best" marks the checkpoint at whose step, as the newest one records, the best
evaluation was; "latest" what the hint for people names.
)";

// Everything of the checkpoint is read; the first problem.
absl::Status VerifyOne(const std::string& path, CheckpointLine* line) {
  const std::vector<absl::Status> damage = FindDamage(path, {});
  if (damage.empty()) {
    line->set_state("verified");
    return absl::OkStatus();
  }
  line->set_state(TextOf(RefusalOf(damage[0])));
  line->set_problem(std::string(damage[0].message()));
  return damage[0];
}

Paint PaintOf(const CheckpointLine& line) {
  if (line.state() == "verified") return Paint::kGood;
  return line.state() == "not read" ? Paint::kPlain : Paint::kBad;
}

std::string NotesOf(const ListReport& report, const CheckpointLine& line) {
  std::vector<std::string> notes;
  if (line.best()) {
    notes.push_back(absl::StrFormat("best: %s %.6g", line.best_metric(),
                                    line.best_value()));
  }
  if (line.branch().empty() && line.name() == report.latest()) {
    notes.push_back("latest");
  }
  return absl::StrJoin(notes, ", ");
}

Table NewTable() {
  return Table(
      {"STEP", "SIZE", "VERSION", "STATE", "ATTEMPT", "FROM", "SAVED", ""});
}

// "60", "60+2" between micro-steps, or a name that is none of a checkpoint.
std::string StepOf(const CheckpointLine& line) {
  if (!ParseCheckpointName(line.name()).has_value()) return line.name();
  return absl::StrCat(line.step(), line.micro_step() > 0
                                       ? absl::StrCat("+", line.micro_step())
                                       : "");
}

void PrintForPeople(const ListReport& report, Streams streams) {
  const bool colours = streams.out_is_terminal;
  uint64_t bytes = 0;
  std::string run_id;
  for (const CheckpointLine& line : report.checkpoints()) {
    bytes += line.bytes();
    // The last of the run itself; an abandoned branch may be another run's.
    if (line.branch().empty() && !line.run_id().empty()) run_id = line.run_id();
  }
  streams.out << Painted(report.run(), Paint::kBold, colours) << ": "
              << report.checkpoints_size()
              << (report.checkpoints_size() == 1 ? " checkpoint, "
                                                 : " checkpoints, ")
              << HumanBytes(bytes)
              << (run_id.empty() ? "" : absl::StrCat(", run ", run_id))
              << "\n\n";
  std::string branch;
  Table table = NewTable();
  auto print = [&] {
    if (table.empty()) return;
    if (!branch.empty()) {
      streams.out << "\n" << Painted(branch, Paint::kBold, colours) << "\n";
    }
    table.Print(streams.out, colours);
    table = NewTable();
  };
  for (const CheckpointLine& line : report.checkpoints()) {
    if (line.branch() != branch) {
      print();
      branch = line.branch();
    }
    table.Add(
        {{StepOf(line), Paint::kBold},
         {HumanBytes(line.bytes())},
         {line.major() == 0 ? "?"
                            : absl::StrCat(line.major(), ".", line.minor())},
         {line.state(), PaintOf(line)},
         {line.attempt() == 0 ? "?" : absl::StrCat(line.attempt())},
         {line.has_parent_step() ? absl::StrCat("step ", line.parent_step())
                                 : "-"},
         {HumanTime(line.created_unix_nanos())},
         {NotesOf(report, line), Paint::kGood}});
  }
  print();
  for (const CheckpointLine& line : report.checkpoints()) {
    if (line.problem().empty()) continue;
    streams.out << "\n"
                << Painted(absl::StrCat(line.name(), ": "), Paint::kBad,
                           colours)
                << line.problem() << "\n";
  }
  if (report.leftovers_size() > 0) {
    streams.out << "\n"
                << report.leftovers_size()
                << " leftovers of a save or prune that did not finish: "
                << absl::StrJoin(report.leftovers(), " ")
                << "\n(being written right now, or for ckpt repair)\n";
  }
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 1) {
    return absl::InvalidArgumentError(
        "expected one run folder; ckpt ls --help says more");
  }
  const std::string& run = arguments.paths()[0];
  if (absl::Status status = CheckIsNoFile(run); !status.ok()) return status;
  absl::StatusOr<RunListing> listing = ListRun(run);
  if (!listing.ok()) return listing.status();
  ListReport report;
  report.set_run(run);
  report.set_latest(listing->latest);
  for (const std::string& leftover : listing->leftovers) {
    report.add_leftovers(leftover);
  }
  if (listing->checkpoints.empty()) {
    absl::Status status = CheckIsRun(run);
    if (!status.ok()) return status;
  }
  int damaged = 0;
  absl::Status first;
  for (const ListedCheckpoint& listed : listing->checkpoints) {
    CheckpointLine* line = report.add_checkpoints();
    *line = LineOf(listed);
    if (!arguments.Has("verify")) continue;
    absl::Status status =
        VerifyOne(JoinPath(JoinPath(run, listed.branch), listed.name), line);
    if (status.ok()) continue;
    if (damaged++ == 0) first = status;
  }
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
  } else {
    PrintForPeople(report, streams);
  }
  if (damaged == 0) return absl::OkStatus();
  return Annotate(first,
                  absl::StrCat(damaged, " of ", report.checkpoints_size(),
                               " checkpoints are not in order; the "
                               "first"));
}

}  // namespace

Verb LsVerb() {
  return {"ls",
          "RUN",
          "lists the checkpoints of a run",
          kHelp,
          {{"verify", "", "read and verify each of them"},
           {"json", "", "print the list as JSON (ListReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
