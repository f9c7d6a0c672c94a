#include "conformance/perturb/controls.h"

#include <fnmatch.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/perturb/edit_checkpoint.h"
#include "conformance/runner/command_line.h"
#include "conformance/runner/testee.h"
#include "format/vocabulary.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

constexpr char kWeightsOnly[] = "weights-only";

struct Output {
  int exit_code = -1;
  std::string text;
};

// Runs a tool of the person's to its end; its errors go to the terminal.
Output RunTool(const std::vector<std::string>& words) {
  Output output;
  // A tool that hangs must not hang the harness.
  const std::string line = "timeout 120 " + JoinCommand(words);
  FILE* pipe = popen(line.c_str(), "re");
  if (pipe == nullptr) return output;
  char buffer[4096];
  size_t count;
  while ((count = fread(buffer, 1, sizeof(buffer), pipe)) > 0) {
    output.text.append(buffer, count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
  return output;
}

absl::Status LoseByTool(const std::vector<std::string>& command,
                        const std::string& run_folder,
                        const std::string& item) {
  std::vector<std::string> words = command;
  words.push_back("--run_folder=" + run_folder);
  words.push_back("--item=" + item);
  const Output output = RunTool(words);
  if (output.exit_code == ExitCode::EXIT_DONE) return absl::OkStatus();
  if (output.exit_code == ExitCode::EXIT_UNSUPPORTED) {
    return absl::NotFoundError(
        absl::StrCat("the tool finds no ", item, " to lose"));
  }
  return absl::InternalError(absl::StrCat(JoinCommand(words),
                                          ": expected exit "
                                          "code 0, found ",
                                          output.exit_code));
}

absl::Status DropFiles(const std::string& run_folder,
                       const std::string& pattern) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry :
       fs::recursive_directory_iterator(run_folder, error)) {
    const std::string path =
        fs::relative(entry.path(), run_folder, error).string();
    if (entry.is_regular_file(error) &&
        fnmatch(pattern.c_str(), path.c_str(), 0) == 0) {
      found.push_back(entry.path());
    }
  }
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no file of the run folder matches ", pattern));
  }
  for (const fs::path& path : found) {
    if (!fs::remove(path, error)) {
      return absl::InternalError(
          absl::StrCat("cannot remove ", path.string(), ": ", error.message()));
    }
  }
  return absl::OkStatus();
}

bool Known(const std::string& item) {
  return item == kWeightsOnly || ParseText<Item>(item).has_value();
}

}  // namespace

absl::StatusOr<std::vector<Control>> MakeControls(
    const std::string& perturb, const std::vector<std::string>& drops) {
  std::vector<Control> controls;
  if (perturb == "reprise") {
    for (Item item : LosableItems()) {
      controls.push_back(
          {reprise::TextOf(item), [item](const std::string& run_folder) {
             return LoseItem(run_folder, item);
           }});
    }
    controls.push_back({kWeightsOnly, KeepWeightsOnly});
  } else if (!perturb.empty()) {
    absl::StatusOr<Testee> tool = Testee::FromLine(perturb);
    if (!tool.ok()) return tool.status();
    const std::vector<std::string> command = tool->command;
    std::vector<std::string> words = command;
    words.push_back("--list");
    const Output list = RunTool(words);
    for (const std::string& item :
         std::vector<std::string>(absl::StrSplit(list.text, '\n'))) {
      if (item.empty()) continue;
      if (!Known(item)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--perturb: \"", item, "\" is no item of the inventory"));
      }
      controls.push_back({item, [command, item](const std::string& run_folder) {
                            return LoseByTool(command, run_folder, item);
                          }});
    }
    if (list.exit_code != ExitCode::EXIT_DONE || controls.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--perturb: ", JoinCommand(words),
                       " lists no items; exit code ", list.exit_code));
    }
  }
  for (const std::string& drop : drops) {
    const std::vector<std::string> parts =
        absl::StrSplit(drop, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[1].empty() || !Known(parts[0])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--drop: expected ITEM=PATTERN with an item of the inventory, found "
          "\"",
          drop, "\""));
    }
    controls.push_back(
        {parts[0], [pattern = parts[1]](const std::string& run_folder) {
           return DropFiles(run_folder, pattern);
         }});
  }
  return controls;
}

}  // namespace reprise::conformance
