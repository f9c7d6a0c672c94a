#include "tools/ckpt/missing_verb.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "format/inventory.h"
#include "format/refusal.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/inspect.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Says what a checkpoint (or the newest of a run folder) lacks for a resume level:

  bitwise      the resumed run is the very same run
  same_order   the same samples and streams, on other hardware
  statistical  training goes on

Ends with 0 when nothing is missing, with 11 when something is.
)";

absl::StatusOr<ResumeLevel> LevelOf(const std::string& text) {
  const auto level = ParseText<ResumeLevel>(absl::AsciiStrToUpper(text));
  if (level.has_value() && *level != vocab::RESUME_LEVEL_UNSPECIFIED) {
    return *level;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--for: expected bitwise, same_order or statistical, found \"", text,
      "\""));
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 1) {
    return absl::InvalidArgumentError(
        "expected one checkpoint or run folder; ckpt missing --help says more");
  }
  absl::StatusOr<ResumeLevel> level =
      LevelOf(arguments.Has("for") ? arguments.Text("for") : "bitwise");
  if (!level.ok()) return level.status();
  std::vector<std::string> passed_over;
  absl::StatusOr<Inspected> inspected =
      InspectMeant(arguments.paths()[0], &passed_over);
  for (const std::string& line : passed_over) streams.err << line << "\n";
  if (!inspected.ok()) return inspected.status();
  MissingReport report;
  report.set_checkpoint(inspected->path);
  report.set_level(TextOf(*level));
  const ResumeLevel highest = HighestLevel(inspected->snapshot);
  if (highest != vocab::RESUME_LEVEL_UNSPECIFIED) {
    report.set_highest_level(TextOf(highest));
  }
  Table table({"ITEM", "RECORD", "WHY"});
  for (const LackingItem& lacking : LackingFor(inspected->snapshot, *level)) {
    const std::string presence = lacking.presence == vocab::PRESENCE_UNSPECIFIED
                                     ? "none"
                                     : TextOf(lacking.presence);
    ItemLine* line = report.add_missing();
    line->set_item(TextOf(lacking.item));
    line->set_presence(presence);
    line->set_reason(lacking.reason);
    table.Add({{line->item(), Paint::kBold},
               {presence, Paint::kWarning},
               {lacking.reason}});
  }
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
  } else if (table.empty()) {
    streams.out << report.checkpoint() << ": "
                << Painted(
                       absl::StrCat("nothing is missing for ", report.level()),
                       Paint::kGood, streams.out_is_terminal)
                << "\n";
  } else {
    table.Print(streams.out, streams.out_is_terminal);
    streams.out << "\nHighest level: "
                << (highest == vocab::RESUME_LEVEL_UNSPECIFIED
                        ? "none"
                        : report.highest_level())
                << "\n";
  }
  return Annotate(RequireFor(inspected->snapshot, *level, {}),
                  report.checkpoint());
}

}  // namespace

Verb MissingVerb() {
  return {"missing",
          "RUN_OR_CHECKPOINT [--for=LEVEL]",
          "says what is missing for a resume",
          kHelp,
          {{"for", "LEVEL", "bitwise (default), same_order or statistical"},
           {"json", "", "print the result as JSON (MissingReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
