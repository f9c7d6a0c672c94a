#include "format/testing/faulty_run.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {

FaultyRun::FaultyRun(CheckpointStore::Options options) {
  options.file_system = &faulty;
  auto opened = CheckpointStore::Open(kFaultyRun, options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  store = *std::move(opened);
}

void FaultyRun::Save(const Snapshot& snapshot) {
  auto digest = store->Save(snapshot);
  ASSERT_TRUE(digest.ok()) << digest.status();
}

std::set<std::string> FaultyRun::Names() {
  std::set<std::string> names;
  auto entries = memory.List(kFaultyRun);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const FolderEntry& entry : *entries) names.insert(entry.name);
  return names;
}

uint64_t FaultyRun::NewestAfterRestart() {
  store.reset();
  CheckpointStore::Options options;
  options.file_system = &memory;
  auto opened = CheckpointStore::Open(kFaultyRun, options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  auto found = (*opened)->NewestVerified();
  EXPECT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->passed_over, ::testing::IsEmpty());
  for (const std::string& name : Names()) {
    EXPECT_NE(name[0], '.') << "left over: " << name;
  }
  return found->checkpoint.has_value() ? found->checkpoint->snapshot.step : 0;
}

}  // namespace reprise
