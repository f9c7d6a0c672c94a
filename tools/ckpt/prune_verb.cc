#include "tools/ckpt/prune_verb.h"

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/retention.h"
#include "format/run_listing.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/inspect.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Removes the checkpoints of a run folder that a policy does not keep. Only verified
ones count as kept, so they are read; damaged ones newer than what is kept stay,
and so do those of a newer format and all of abandoned/. The last verified one is
never removed.

--dry_run says what would go, changes nothing and needs no lock. Without it the
run's lock is taken: a run that trains is left alone (exit code 2).
)";

absl::StatusOr<RetentionPolicy> PolicyOf(const Arguments& arguments) {
  absl::StatusOr<std::optional<uint64_t>> last = arguments.Count("keep_last");
  if (!last.ok()) return last.status();
  absl::StatusOr<std::optional<uint64_t>> every = arguments.Count("keep_every");
  if (!every.ok()) return every.status();
  if (!last->has_value() || **last < 1 ||
      **last > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(
        "expected --keep_last=N with N of at least 1: how many of the newest "
        "verified checkpoints stay");
  }
  RetentionPolicy policy;
  policy.keep_last = static_cast<int>(**last);
  policy.keep_every = every->value_or(0);
  policy.keep_best = arguments.Has("keep_best");
  return policy;
}

// Prunes; names that went.
absl::StatusOr<std::vector<std::string>> Prune(const std::string& run,
                                               const RetentionPolicy& policy,
                                               Streams streams) {
  CheckpointStore::Options options;
  options.keep_last = policy.keep_last;
  options.keep_every = policy.keep_every;
  options.keep_best = policy.keep_best;
  auto store = CheckpointStore::Open(run, options);
  if (!store.ok()) return store.status();
  absl::StatusOr<std::vector<std::string>> removed = (*store)->Prune();
  for (const std::string& notice : (*store)->TakeNotices()) {
    streams.err << notice << "\n";
  }
  return removed;
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 1) {
    return absl::InvalidArgumentError(
        "expected one run folder and --keep_last=N; ckpt prune --help says "
        "more");
  }
  absl::StatusOr<RetentionPolicy> policy = PolicyOf(arguments);
  if (!policy.ok()) return policy.status();
  const std::string& run = arguments.paths()[0];
  // Opening a run folder makes one that is not there.
  absl::Status status = CheckIsRun(run);
  if (!status.ok()) return status;
  const bool dry_run = arguments.Has("dry_run");
  absl::StatusOr<RunListing> listing = ListRun(run);
  if (!listing.ok()) return listing.status();
  std::map<std::string, uint64_t> sizes;
  for (const ListedCheckpoint& listed : listing->checkpoints) {
    if (listed.branch.empty()) sizes[listed.name] = listed.bytes;
  }
  absl::StatusOr<std::vector<RetentionDecision>> plan =
      PlanRetention(run, *policy);
  if (!plan.ok()) return plan.status();
  if (!dry_run) {
    absl::StatusOr<std::vector<std::string>> removed =
        Prune(run, *policy, streams);
    if (!removed.ok()) return removed.status();
    // What was done counts, not what was planned.
    const std::set<std::string> gone(removed->begin(), removed->end());
    for (RetentionDecision& decision : *plan) {
      decision.keep = gone.count(decision.name) == 0;
    }
  }
  PruneReport report;
  report.set_run(run);
  report.set_dry_run(dry_run);
  Table table({});
  int removed = 0;
  for (const RetentionDecision& decision : *plan) {
    PruneLine* line = report.add_checkpoints();
    line->set_name(decision.name);
    line->set_keep(decision.keep);
    line->set_reason(decision.reason);
    line->set_bytes(sizes[decision.name]);
    if (!decision.keep) {
      ++removed;
      report.set_bytes_removed(report.bytes_removed() + line->bytes());
    }
    table.Add({{decision.keep ? "keep"
                : dry_run     ? "would remove"
                              : "removed",
                decision.keep ? Paint::kGood : Paint::kWarning},
               {decision.name},
               {HumanBytes(line->bytes())},
               {decision.reason}});
  }
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
    return absl::OkStatus();
  }
  table.Print(streams.out, streams.out_is_terminal);
  streams.out << "\n"
              << removed << " of " << report.checkpoints_size()
              << " checkpoints "
              << (dry_run ? "would be removed, " : "removed, ")
              << HumanBytes(report.bytes_removed()) << "\n";
  return absl::OkStatus();
}

}  // namespace

Verb PruneVerb() {
  return {"prune",
          "RUN --keep_last=N",
          "removes checkpoints that a policy does not keep",
          kHelp,
          {{"keep_last", "N", "newest verified checkpoints to keep"},
           {"keep_every", "N", "also keep steps that are multiples of N"},
           {"keep_best", "", "also keep the one of the best evaluation"},
           {"dry_run", "", "only say what would go"},
           {"json", "", "print the result as JSON (PruneReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
