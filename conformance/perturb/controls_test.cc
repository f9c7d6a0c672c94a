#include "conformance/perturb/controls.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::HasSubstr;

// A tool that lists two items and writes down what it is asked for.
std::string Tool(const std::string& name, const std::string& items) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << "#!/bin/sh\n"
                      << "if [ \"$1\" = --list ]; then printf '" << items
                      << "'; exit 0; fi\n"
                      << "case \"$2\" in --item=best) exit 10;; esac\n"
                      << "echo \"$@\" > \"${1#--run_folder=}/asked\"\n";
  chmod(path.c_str(), 0755);
  return path;
}

std::string Folder(const std::string& name) {
  const std::string folder = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/checkpoint-40");
  return folder;
}

TEST(Controls, OfARepriseRunFolderAreItsLosableItems) {
  const auto controls = MakeControls("reprise", {});
  ASSERT_TRUE(controls.ok());
  EXPECT_GT(controls->size(), 10u);
  EXPECT_EQ(controls->back().name, "weights-only");
}

TEST(Controls, AskAToolForEachItemThatItLists) {
  const auto controls =
      MakeControls(Tool("tool", "scaler.scale\\nbest\\n"), {});
  ASSERT_TRUE(controls.ok()) << controls.status();
  ASSERT_EQ(controls->size(), 2u);
  const std::string folder = Folder("asked");
  ASSERT_TRUE((*controls)[0].edit(folder).ok());
  std::string line;
  std::getline(std::ifstream(folder + "/asked") >> std::ws, line);
  EXPECT_EQ(line, "--run_folder=" + folder + " --item=scaler.scale");
  EXPECT_TRUE(absl::IsNotFound((*controls)[1].edit(folder)));
}

TEST(Controls, DropTheFilesThatMatch) {
  const auto controls =
      MakeControls("", {"optim.moments=*/optimizer.pt", "best=*.best"});
  ASSERT_TRUE(controls.ok()) << controls.status();
  const std::string folder = Folder("drop");
  std::ofstream(folder + "/checkpoint-40/optimizer.pt") << "x";
  std::ofstream(folder + "/checkpoint-40/model.pt") << "x";
  EXPECT_EQ((*controls)[0].name, "optim.moments");
  ASSERT_TRUE((*controls)[0].edit(folder).ok());
  EXPECT_FALSE(std::filesystem::exists(folder + "/checkpoint-40/optimizer.pt"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/checkpoint-40/model.pt"));
  EXPECT_TRUE(absl::IsNotFound((*controls)[1].edit(folder)));
}

TEST(Controls, RefuseWhatNamesNoItem) {
  EXPECT_THAT(MakeControls("", {"optimiser=*.pt"}).status().message(),
              HasSubstr("optimiser=*.pt"));
  EXPECT_THAT(MakeControls("", {"best"}).status().message(),
              HasSubstr("ITEM=PATTERN"));
  EXPECT_THAT(MakeControls("/bin/true", {}).status().message(),
              HasSubstr("lists no items"));
  EXPECT_THAT(MakeControls(Tool("odd", "soul\\n"), {}).status().message(),
              HasSubstr("soul"));
}

}  // namespace
}  // namespace reprise::conformance
