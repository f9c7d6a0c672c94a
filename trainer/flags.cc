#include "trainer/flags.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "trainer/config/config.h"
#include "trainer/resume_choice.h"

ABSL_FLAG(std::string, run_dir, "runs/default",
          "folder of the run: checkpoints, lock, metrics.jsonl. A run that is "
          "there already is gone on with.");
ABSL_FLAG(bool, fresh, false,
          "start again from step 0; what the run folder holds is moved to its "
          "abandoned/ folder, never deleted.");
ABSL_FLAG(
    std::string, resume, "newest",
    "what to go on from: newest (fresh where there is none), required "
    "(newest; an error where there is none), never (an error where there "
    "is one), a step of the run folder, or a checkpoint folder. What lies "
    "beyond moves to abandoned/.");
ABSL_FLAG(std::vector<std::string>, accept_missing, {},
          "items that the checkpoint lacks, by comma, all of them: they begin "
          "anew, from the configuration. For checkpoints of other programs "
          "(ckpt import); without it the refusal names them.");
ABSL_FLAG(
    std::string, init_from, "",
    "a checkpoint folder: begin another run with its weights alone. Not a "
    "resume: optimizer, schedule, data position and random numbers begin "
    "anew.");
ABSL_FLAG(bool, take_foreign_lock, false,
          "where the run folder's file system has no flock: also take over a "
          "lock that a process of another host or container left. Only after "
          "making sure that it has ended; two trainers in one run folder "
          "destroy each other's checkpoints.");
ABSL_FLAG(std::string, config, "",
          "text-format reprise.trainer.v1.TrainerConfig; fields that it does "
          "not set keep their defaults.");
ABSL_FLAG(std::vector<std::string>, set, {},
          "group.field=value, one configuration field; may be repeated. The "
          "fields are in trainer/config/v1/trainer_config.proto.");
ABSL_FLAG(std::string, data_dir, "",
          "folder with the four Fashion-MNIST files; empty: the ones that "
          "belong to this program.");
ABSL_FLAG(absl::optional<std::string>, precision, absl::nullopt,
          "fp16, bf16 or fp32: what autocast computes in (precision.mode).");
ABSL_FLAG(absl::optional<std::string>, device, absl::nullopt,
          "cpu or cuda (run.device).");
ABSL_FLAG(absl::optional<uint64_t>, steps, absl::nullopt,
          "attempted steps of the whole run (run.steps).");
ABSL_FLAG(absl::optional<uint64_t>, save_every, absl::nullopt,
          "steps between checkpoints (run.save_every).");
ABSL_FLAG(absl::optional<uint32_t>, keep, absl::nullopt,
          "newest checkpoints to keep (run.keep_last).");
ABSL_FLAG(absl::optional<uint64_t>, seed, absl::nullopt,
          "seed of everything random (run.seed).");
ABSL_FLAG(absl::optional<double>, max_seconds, absl::nullopt,
          "seconds that this process may run from its start; it does one step "
          "at least, saves before and ends with exit code 13 "
          "(run.max_seconds).");
ABSL_FLAG(absl::optional<uint32_t>, threads, absl::nullopt,
          "CPU threads; 0: one per core, and on resume the checkpoint's "
          "(run.threads).");

namespace reprise {
namespace {

constexpr char kUsage[] =
    "Trains an image classifier in mixed precision, saves checkpoints, and "
    "goes on where it was when it is started again.\n\n"
    "  trainer --run_dir=runs/first            train, or go on\n"
    "  trainer --precision=bf16 --steps=500    another run\n\n"
    "Exit codes: 0 done, 1 usage, 2 bad request, 10 unsupported, 11 checkpoint "
    "rejected, 12 training failed, 13 stopped on request (start again to go "
    "on), 14 save failed.";

// Abseil keeps one value a flag: joins repeated --set flags with commas, which
// is how its list flags are written.
std::vector<std::string> JoinSetFlags(int argc, char** argv) {
  std::vector<std::string> arguments;
  std::string joined;
  for (int i = 0; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--") {
      arguments.insert(arguments.end(), argv + i, argv + argc);
      break;
    }
    if (absl::StartsWith(argument, "--set=")) {
      absl::StrAppend(&joined, joined.empty() ? "" : ",", argument.substr(6));
    } else if (argument == "--set" && i + 1 < argc) {
      absl::StrAppend(&joined, joined.empty() ? "" : ",", argv[++i]);
    } else {
      arguments.emplace_back(argument);
    }
  }
  if (!joined.empty()) {
    arguments.insert(arguments.begin() + 1, absl::StrCat("--set=", joined));
  }
  return arguments;
}

std::string Absolute(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  std::string base;
  if (const char* user = getenv("BUILD_WORKING_DIRECTORY"); user != nullptr) {
    base = user;
  } else if (char* current = getcwd(nullptr, 0); current != nullptr) {
    base = current;
    free(current);
  }
  return absl::StrCat(base, "/", path);
}

// As one word of a shell.
std::string Quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("/._-+:,@%=", c);
  });
  if (plain && !word.empty()) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

// Sets the field `path` when the flag was given.
template <typename T>
void Take(const absl::Flag<absl::optional<T>>& flag, const char* path,
          ExplicitFields* given) {
  if (const absl::optional<T> value = absl::GetFlag(flag); value.has_value()) {
    (*given)[path] = absl::StrCat(*value);
  }
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv) {
  absl::SetProgramUsageMessage(kUsage);
  absl::FlagsUsageConfig usage;
  usage.contains_help_flags = [](absl::string_view file) {
    return absl::EndsWith(file, "trainer/flags.cc");
  };
  absl::SetFlagsUsageConfig(usage);
  std::vector<std::string> arguments = JoinSetFlags(argc, argv);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(&argument[0]);
  const std::vector<char*> rest =
      absl::ParseCommandLine(pointers.size(), pointers.data());
  if (rest.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected flags only, found \"", rest[1], "\"; see --help"));
  }

  CommandLine line;
  line.program = getenv("BUILD_WORKING_DIRECTORY") != nullptr
                     ? "bazel run //trainer --"
                     : Quoted(argv[0]);
  line.run_dir = Absolute(absl::GetFlag(FLAGS_run_dir));
  line.data_dir = Absolute(absl::GetFlag(FLAGS_data_dir));
  line.fresh = absl::GetFlag(FLAGS_fresh);
  line.take_foreign_lock = absl::GetFlag(FLAGS_take_foreign_lock);
  line.resume = absl::GetFlag(FLAGS_resume);
  if (NamesFolder(line.resume)) line.resume = Absolute(line.resume);
  line.init_from = Absolute(absl::GetFlag(FLAGS_init_from));
  line.accept_missing = absl::GetFlag(FLAGS_accept_missing);
  if (line.fresh && !line.accept_missing.empty()) {
    return absl::InvalidArgumentError(
        "--accept_missing: expected a run to go on with, found --fresh");
  }
  if (line.resume.empty() || (line.fresh && line.resume != "newest")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--resume: expected newest, required, never, a step or a checkpoint "
        "folder, and not beside --fresh; found \"",
        line.resume, "\""));
  }
  if (line.run_dir.empty()) {
    return absl::InvalidArgumentError(
        "--run_dir: expected a folder, found an empty text");
  }
  if (const std::string file = Absolute(absl::GetFlag(FLAGS_config));
      !file.empty()) {
    auto given = LoadTextFile(file);
    if (!given.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--config: ", given.status().message()));
    }
    line.given = *std::move(given);
  }
  for (const std::string& assignment : absl::GetFlag(FLAGS_set)) {
    if (!absl::StrContains(assignment, '=')) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--set: expected group.field=value, found \"", assignment, "\""));
    }
    const std::pair<std::string, std::string> field =
        absl::StrSplit(assignment, absl::MaxSplits('=', 1));
    line.given[field.first] = field.second;
  }
  Take(FLAGS_precision, "precision.mode", &line.given);
  Take(FLAGS_device, "run.device", &line.given);
  Take(FLAGS_steps, "run.steps", &line.given);
  Take(FLAGS_save_every, "run.save_every", &line.given);
  Take(FLAGS_keep, "run.keep_last", &line.given);
  Take(FLAGS_seed, "run.seed", &line.given);
  Take(FLAGS_threads, "run.threads", &line.given);
  Take(FLAGS_max_seconds, "run.max_seconds", &line.given);
  return line;
}

std::string GoOnCommand(const CommandLine& line) {
  std::string command =
      absl::StrCat(line.program, " ", Quoted("--run_dir=" + line.run_dir));
  if (!line.data_dir.empty()) {
    absl::StrAppend(&command, " ", Quoted("--data_dir=" + line.data_dir));
  }
  return command;
}

}  // namespace reprise
