#include "tools/ckpt/repair_verb.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/run_entries.h"
#include "format/run_listing.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/inspect.h"
#include "tools/ckpt/locate.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Puts a run folder in order after a crash: removes what saves and prunes that did
not finish left behind, and makes the hint "latest" name the newest checkpoint
that verifies. Committed checkpoints are never touched, damaged ones neither:
they are named, for somebody to look at. A trainer does all this by itself when
it starts.

Ends with 0 when the folder is in order, also where a damaged checkpoint stays;
ckpt verify ends with 11 for that.

Takes the run's lock: a run that trains is left alone (exit code 2). --dry_run
only looks and needs no lock.
)";

// Newest checkpoint that verifies; the others that it met go to `report`.
std::string NewestWhole(const std::string& run, RepairReport* report) {
  absl::StatusOr<std::vector<RunEntry>> entries = ListRunEntries(run);
  if (!entries.ok()) return "";
  for (const RunEntry& entry : *entries) {
    const std::vector<absl::Status> damage =
        FindDamage(JoinPath(run, entry.name), {});
    if (damage.empty()) return entry.name;
    Problem* problem = report->add_damaged();
    problem->set_refusal(TextOf(RefusalOf(damage[0])));
    problem->set_message(std::string(damage[0].message()));
  }
  return "";
}

absl::Status Look(const std::string& run, RepairReport* report) {
  absl::StatusOr<RunListing> listing = ListRun(run);
  if (!listing.ok()) return listing.status();
  for (const std::string& leftover : listing->leftovers) {
    report->add_done(absl::StrCat("would remove the leftover ", leftover));
  }
  report->set_newest(NewestWhole(run, report));
  if (listing->latest != report->newest()) {
    report->add_done(absl::StrCat(
        "would make latest name ",
        report->newest().empty() ? "nothing" : report->newest(), " instead of ",
        listing->latest.empty() ? "nothing" : listing->latest));
  }
  return absl::OkStatus();
}

absl::Status Repair(const std::string& run, RepairReport* report) {
  auto store = CheckpointStore::Open(run, {});
  if (!store.ok()) return store.status();
  for (const std::string& notice : (*store)->TakeNotices()) {
    report->add_done(notice);
  }
  report->set_newest(NewestWhole(run, report));
  absl::StatusOr<bool> changed = (*store)->RepairHint(report->newest());
  if (!changed.ok()) return changed.status();
  if (*changed) {
    report->add_done(absl::StrCat("latest names ", report->newest().empty()
                                                       ? "nothing"
                                                       : report->newest()));
  }
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 1) {
    return absl::InvalidArgumentError(
        "expected one run folder; ckpt repair --help says more");
  }
  const std::string& run = arguments.paths()[0];
  if (absl::Status status = CheckIsNoFile(run); !status.ok()) return status;
  absl::StatusOr<RunListing> listing = ListRun(run);
  if (!listing.ok()) return listing.status();
  // A first save may have died before it committed anything.
  if (listing->leftovers.empty()) {
    absl::Status status = CheckIsRun(run);
    if (!status.ok()) return status;
  }
  RepairReport report;
  report.set_run(run);
  report.set_dry_run(arguments.Has("dry_run"));
  absl::Status status =
      report.dry_run() ? Look(run, &report) : Repair(run, &report);
  if (!status.ok()) return status;
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
    return absl::OkStatus();
  }
  const bool colours = streams.out_is_terminal;
  for (const std::string& line : report.done()) streams.out << line << "\n";
  if (report.done().empty()) streams.out << "nothing to repair\n";
  for (const Problem& problem : report.damaged()) {
    streams.out << Painted("not in order: ", Paint::kBad, colours)
                << problem.refusal() << ": " << problem.message() << "\n";
  }
  streams.out << "newest that verifies: "
              << (report.newest().empty() ? "none" : report.newest()) << "\n";
  return absl::OkStatus();
}

}  // namespace

Verb RepairVerb() {
  return {"repair",
          "RUN",
          "removes leftovers and puts the hint right",
          kHelp,
          {{"dry_run", "", "only say what would be done"},
           {"json", "", "print the result as JSON (RepairReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
