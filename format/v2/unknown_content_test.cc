#include "format/v2/unknown_content.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::Message;
using ::testing::HasSubstr;

constexpr uint32_t kLaterMinor = 7;

// A field that no version has yet.
void AddUnknown(Message* message, uint64_t value) {
  message->GetReflection()->MutableUnknownFields(message)->AddVarint(1000,
                                                                     value);
}

uint64_t UnknownIn(const Message& message) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  return fields.field_count() == 1 ? fields.field(0).varint() : 0;
}

class UnknownContentTest : public ::testing::Test {
 protected:
  void SetUp() override { run_ = FreshTestFolder(); }

  std::unique_ptr<CheckpointStore> Open(const std::string& name) {
    CheckpointStore::Options options;
    options.format_major = 2;
    auto store = CheckpointStore::Open(JoinPath(run_, name), options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  static std::string PathOf(const std::string& run) {
    return JoinPath(run, "step-000000000060");
  }

  // A checkpoint of step 60 as a later minor version might have written it.
  LoadedCheckpoint Later(const std::function<void(v2::Manifest*)>& edit) {
    auto store = Open("later");
    EXPECT_TRUE(store->Save(FullSnapshot(60)).ok());
    const std::string file =
        JoinPath(PathOf(JoinPath(run_, "later")), "manifest.ckpt");
    v2::Manifest message = MessageOf(file);
    edit(&message);
    const std::string manifest = message.SerializeAsString();
    EXPECT_TRUE(
        ReplaceFile(file, EncodeEnvelope(2, kLaterMinor, manifest) + manifest)
            .ok());
    auto loaded = ReadCheckpoint(PathOf(JoinPath(run_, "later")));
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *std::move(loaded);
  }

  static v2::Manifest MessageOf(const std::string& file) {
    v2::Manifest message;
    EXPECT_TRUE(
        message.ParseFromString(FileContent(file)->substr(kEnvelopeSize)));
    return message;
  }

  std::string run_;
};

// Rules: CARRY-1
TEST_F(UnknownContentTest, C37_ComesBackWhereItWasWhenTheSameStepIsSaved) {
  const LoadedCheckpoint later = Later([](v2::Manifest* m) {
    AddUnknown(m, 1);
    AddUnknown(m->mutable_model(), 2);
    AddUnknown(m->mutable_optimizer()->mutable_groups(1), 3);
    AddUnknown(m->mutable_config()->mutable_fields(0), 4);
    AddUnknown(RecordOfV2(m, Item::SCALER_SCALE), 5);
    AddUnknown(m->mutable_random()->mutable_cpu(), 6);
    AddUnknown(m->mutable_evaluation()->mutable_last()->mutable_metrics(1), 7);
    v2::ItemRecord* record = m->add_inventory();
    record->set_item(static_cast<Item>(Item::WITNESS + 1));
    record->set_presence(Presence::PRESENCE_SAVED);
    record->set_as_of_step(60);
    m->add_optional_features("sidecar");
  });
  EXPECT_EQ(later.snapshot.Find(static_cast<Item>(Item::WITNESS + 1)), nullptr);
  auto store = Open("again");
  auto digest = store->Save(later.snapshot);
  ASSERT_TRUE(digest.ok()) << digest.status();
  const std::string file =
      JoinPath(PathOf(JoinPath(run_, "again")), "manifest.ckpt");
  EXPECT_EQ(FileContent(file)->at(16), static_cast<char>(kLaterMinor));
  const v2::Manifest message = MessageOf(file);
  EXPECT_EQ(UnknownIn(message), 1u);
  EXPECT_EQ(UnknownIn(message.model()), 2u);
  EXPECT_EQ(UnknownIn(message.optimizer().groups(1)), 3u);
  EXPECT_EQ(UnknownIn(message.optimizer().groups(0)), 0u);
  EXPECT_EQ(UnknownIn(message.config().fields(0)), 4u);
  EXPECT_EQ(UnknownIn(message.inventory(Item::SCALER_SCALE - 1)), 5u);
  EXPECT_EQ(UnknownIn(message.random().cpu()), 6u);
  EXPECT_EQ(UnknownIn(message.evaluation().last().metrics(1)), 7u);
  ASSERT_EQ(message.inventory_size(), 51);
  EXPECT_EQ(message.inventory(50).item(), Item::WITNESS + 1);
  EXPECT_EQ(message.optional_features(0), "sidecar");
  // What the value digest covers is said.
  EXPECT_TRUE(message.has_value_minor());
  EXPECT_EQ(message.value_minor(), 0u);
  // All else is as it was.
  v2::Manifest before =
      MessageOf(JoinPath(PathOf(JoinPath(run_, "later")), "manifest.ckpt"));
  before.set_value_minor(0);
  before.set_value_digest(message.value_digest());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(before, message));
  // And so it goes on.
  auto read = ReadCheckpoint(PathOf(JoinPath(run_, "again")));
  ASSERT_TRUE(read.ok()) << read.status();
  auto third = Open("third")->Save(read->snapshot);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ(*third, *digest);
}

// Rules: CARRY-1
TEST_F(UnknownContentTest, C37_IsNotCarriedToAnotherStep) {
  LoadedCheckpoint later =
      Later([](v2::Manifest* m) { AddUnknown(m->mutable_model(), 2); });
  Snapshot next = FullSnapshot(70);
  next.unknown = later.snapshot.unknown;
  auto store = Open("again");
  absl::Status status = store->Save(next).status();
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is of step 60"));
  // A trainer fills a snapshot of its own, which has none.
  EXPECT_TRUE(store->Save(FullSnapshot(70)).ok());
}

// Rules: CARRY-1
TEST_F(UnknownContentTest, C37_WhatHasLostItsPlaceIsRefused) {
  LoadedCheckpoint later = Later([](v2::Manifest* m) {
    AddUnknown(m->mutable_optimizer()->mutable_groups(1), 3);
  });
  later.snapshot.optimizer->groups[1].name = "renamed";
  absl::Status status = Open("again")->Save(later.snapshot).status();
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("optimizer.groups[no_decay]"));
}

// Rules: CARRY-1
TEST_F(UnknownContentTest, C37_ColumnsOfTheTableAndUnnamedElementsAreRefused) {
  v2::Manifest message;
  message.set_step(60);
  AddUnknown(message.mutable_tensors(), 1);
  auto content = UnknownContentOf(message, kLaterMinor);
  ASSERT_TRUE(content.has_value());
  EXPECT_EQ(content->lost, "tensors");
  EXPECT_EQ(RefusalOf(PutUnknownContent(*content, &message)),
            Refusal::INVALID_VALUE);
  message.Clear();
  AddUnknown(message.add_history(), 1);
  EXPECT_EQ(UnknownContentOf(message, kLaterMinor)->lost, "history");
  message.Clear();
  EXPECT_FALSE(UnknownContentOf(message, kLaterMinor).has_value());
}

}  // namespace
}  // namespace reprise
