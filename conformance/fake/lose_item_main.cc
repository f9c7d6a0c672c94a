// Loses an item of the newest checkpoint in a run folder of the fake trainer
// (lose_item.h):
//
//   lose_item_tool --run_folder=D --item=scaler.scale
//   lose_item_tool --run_folder=D --item=weights-only
//   lose_item_tool --list
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "conformance/fake/lose_item.h"
#include "format/refusal.h"

namespace reprise::conformance::fake {
namespace {

int Main(int argc, char** argv) {
  std::string folder, item;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--list") {
      for (Item losable : LosableItems()) std::cout << TextOf(losable) << "\n";
      std::cout << "weights-only\n";
      return ExitCode::EXIT_DONE;
    }
    if (absl::ConsumePrefix(&argument, "--run_folder=")) {
      folder = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--item=")) {
      item = std::string(argument);
    } else {
      folder.clear();
      break;
    }
  }
  const auto known = ParseText<Item>(item);
  if (folder.empty() || (!known.has_value() && item != "weights-only")) {
    std::cerr << "usage: lose_item_tool --run_folder=D --item=NAME | --list\n";
    return ExitCode::EXIT_USAGE;
  }
  absl::Status status = known.has_value()
                            ? LoseItem(FileSystem::Real(), folder, *known)
                            : KeepWeightsOnly(FileSystem::Real(), folder);
  if (!status.ok()) std::cerr << "lose_item: " << status.message() << "\n";
  return ExitCodeFor(status);
}

}  // namespace
}  // namespace reprise::conformance::fake

int main(int argc, char** argv) {
  return reprise::conformance::fake::Main(argc, argv);
}
