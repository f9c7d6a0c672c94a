#include "tools/ckpt_migrate/migrate_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "format/io/file_system.h"
#include "format/migrate/migrate_run.h"
#include "format/migrate/rename_rules.h"
#include "format/refusal.h"
#include "tools/ckpt/arguments.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt_migrate/report.h"

namespace reprise::ckpt_migrate {
namespace {

using ckpt::Arguments;
using ckpt::Flag;

constexpr size_t kLongestRules = 1 << 20;

const std::vector<Flag>& Flags() {
  static const auto* const flags = new std::vector<Flag>{
      {"to", "vN", "the version to migrate to (the newest: v2)"},
      {"out", "DIR", "the new run folder (RUN.v2, or RUN.renamed)"},
      {"rename", "RULES",
       "a file of rules PATTERN -> REPLACEMENT, or one such rule"},
      {"dry_run", "",
       "checks everything, says what would be done, writes "
       "nothing"},
      {"copy", "", "copies tensors that could be linked"},
      {"verify", "", "reads every byte of tensors that are linked, too"},
      {"explain", "", "all names and all reasons"},
      {"json", "", "the report as JSON (tools/ckpt_migrate/report.proto)"},
      {"help", "", "this"},
  };
  return *flags;
}

std::string Help() {
  std::string text =
      "usage: ckpt_migrate RUN_OR_CHECKPOINT [FLAGS]\n\n"
      "Makes a new run folder with the checkpoints of an older version, or "
      "with "
      "other\nnames of parameters. What it reads is never changed. The new "
      "folder "
      "appears when\nall of it is written, compared and synced, or not at all; "
      "after a kill, the same\ncommand goes on.\n\n";
  text += ckpt::FlagsHelp(Flags(), 16);
  absl::StrAppend(
      &text,
      "\nRules: one a line; # begins a comment. A pattern is RE2 and need not "
      "match the\nwhole name; \\1 stands for its first group. The first rule "
      "that applies to a name\nrenames it, with its moments, master, EMA and "
      "ties:\n\n"
      "  ^module\\. ->\n"
      "  ^fc(\\d+)\\. -> head.\\1.\n\n"
      "Exit codes: 0 done, 1 usage, 2 bad request (nothing of that name, held "
      "by another\nprogram, rules that do not fit), 11 checkpoint rejected, 14 "
      "not written.\n");
  return text;
}

// Absolute and without dots, so that "." has a name and a place beside it.
std::string Absolute(const std::string& persons_path) {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::absolute(persons_path, error);
  return error ? persons_path
               : WithoutTrailingSlashes(path.lexically_normal().string());
}

absl::StatusOr<uint32_t> ToMajor(const Arguments& arguments) {
  if (!arguments.Has("to")) return kNewestMajor;
  const std::string text = arguments.Text("to");
  uint32_t major = 0;
  if (!absl::StartsWith(text, "v") ||
      !std::all_of(text.begin() + 1, text.end(),
                   [](char c) { return c >= '0' && c <= '9'; }) ||
      !absl::SimpleAtoi(text.substr(1), &major)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--to: expected a version such as v2, found \"", text, "\""));
  }
  return major;
}

absl::StatusOr<std::shared_ptr<const RenameRules>> Rules(
    const Arguments& arguments) {
  if (!arguments.Has("rename")) return std::shared_ptr<const RenameRules>();
  std::string text = arguments.Text("rename");
  if (!absl::StrContains(text, "->")) {
    const std::string path = ckpt::PersonsPath(text);
    absl::StatusOr<std::string> file =
        ReadSmallFile(FileSystem::Real(), path, kLongestRules);
    if (!file.ok()) {
      // Not a refusal of the checkpoint.
      return absl::InvalidArgumentError(absl::StrCat(
          "--rename: ", file.status().message(),
          " (a rule itself has a ->, everything else is a file of rules)"));
    }
    text = *std::move(file);
  }
  absl::StatusOr<RenameRules> rules = RenameRules::Parse(text);
  if (!rules.ok()) return rules.status();
  return std::make_shared<const RenameRules>(*std::move(rules));
}

// What failed while the new place was written is the save's.
ExitCode CodeOf(const absl::Status& status, bool writing) {
  const ExitCode code = ExitCodeFor(status);
  return writing && RefusalOf(status) != Refusal::LOCKED
             ? ExitCode::EXIT_SAVE_FAILED
             : code;
}

ExitCode Usage(std::ostream& err, absl::string_view problem) {
  err << "ckpt_migrate: " << problem << "\n(ckpt_migrate --help says more)\n";
  return ExitCode::EXIT_USAGE;
}

ExitCode Fail(const std::string& source, const std::string& out_folder,
              const absl::Status& status, bool writing, bool json,
              std::ostream& out, std::ostream& err) {
  const ExitCode code = CodeOf(status, writing);
  err << "ckpt_migrate: " << ckpt::ErrorText(status) << "\n"
      << "Nothing was changed.\n";
  if (json) out << JsonFailure(source, out_folder, status, code);
  return code;
}

}  // namespace

ExitCode RunCkptMigrate(const std::vector<std::string>& words,
                        std::ostream& out, std::ostream& err,
                        bool show_progress) {
  absl::StatusOr<Arguments> arguments = Arguments::Parse(words, Flags());
  if (!arguments.ok()) return Usage(err, arguments.status().message());
  if (arguments->Has("help") || words.empty()) {
    (words.empty() ? err : out) << Help();
    return words.empty() ? ExitCode::EXIT_USAGE : ExitCode::EXIT_DONE;
  }
  if (arguments->paths().size() != 1) {
    return Usage(err, absl::StrCat("expected one run folder or checkpoint, "
                                   "found ",
                                   arguments->paths().size()));
  }
  absl::StatusOr<uint32_t> to = ToMajor(*arguments);
  if (!to.ok()) return Usage(err, to.status().message());
  const bool json = arguments->Has("json");
  const std::string source = Absolute(arguments->paths()[0]);
  MigrateRunOptions options;
  options.checkpoint.to_major = *to;
  options.checkpoint.copy = arguments->Has("copy");
  options.checkpoint.verify = arguments->Has("verify");
  options.dry_run = arguments->Has("dry_run");
  options.out =
      arguments->Has("out")
          ? Absolute(ckpt::PersonsPath(arguments->Text("out")))
          : DefaultMigrationOut(source, *to, arguments->Has("rename"));
  absl::StatusOr<std::shared_ptr<const RenameRules>> rules = Rules(*arguments);
  if (!rules.ok()) {
    return Fail(source, options.out, rules.status(), false, json, out, err);
  }
  options.checkpoint.rename = *std::move(rules);
  if (show_progress) {
    options.progress = [&err](const std::string& line) {
      err << line << std::endl;
    };
  }
  bool writing = false;
  absl::StatusOr<MigratedRun> run = MigrateRun(source, options, &writing);
  if (!run.ok()) {
    return Fail(source, options.out, run.status(), writing, json, out, err);
  }
  out << (json ? JsonReport(source, *run)
               : TextReport(source, *run, arguments->Has("explain")));
  out.flush();
  return ExitCode::EXIT_DONE;
}

}  // namespace reprise::ckpt_migrate
