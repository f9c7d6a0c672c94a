#include "format/v2/codec.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/items.h"
#include "format/v2/save.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ::testing::HasSubstr;

// A manifest as it is written, without the shards.
std::string Manifest(const Snapshot& snapshot) {
  auto plan = PlanV2(snapshot, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return "";
  for (TableEntry& entry : plan->draft.tensors) entry.root.assign(16, 'r');
  auto encoded = EncodeV2(plan->draft, plan->shards);
  EXPECT_TRUE(encoded.ok()) << encoded.status();
  return encoded->manifest;
}

absl::Status Decoded(const std::function<void(v2::Manifest*)>& edit) {
  return DecodeV2(EditedManifestV2(Manifest(FullSnapshot(60)), edit)).status();
}

TEST(CodecV2, EqualSnapshotsHaveEqualManifests) {
  EXPECT_EQ(Manifest(FullSnapshot(60)), Manifest(FullSnapshot(60)));
  // Order of what has no order does not matter.
  Snapshot other = FullSnapshot(60);
  std::reverse(other.parameters.begin(), other.parameters.end());
  std::reverse(other.config.begin(), other.config.end());
  std::reverse(other.inventory.begin(), other.inventory.end());
  std::reverse(other.optimizer->states.begin(), other.optimizer->states.end());
  std::reverse(other.user.begin(), other.user.end());
  EXPECT_EQ(Manifest(FullSnapshot(60)), Manifest(other));
}

// Takes every field that is there away, one at a time; only those may go that
// the schema or a rule of the text says may be absent.
class FieldRemover {
 public:
  FieldRemover(v2::Manifest* root, const std::string& intact)
      : root_(root), intact_(intact) {}

  void Walk(google::protobuf::Message* message, const std::string& path) {
    const auto* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const std::string field_path =
          absl::StrCat(path, path.empty() ? "" : ".", field->name());
      Try(message, field, field_path);
      if (field->message_type() == nullptr) continue;
      if (field->is_repeated()) {
        if (reflection->FieldSize(*message, field) > 0) {
          Walk(reflection->MutableRepeatedMessage(message, field, 0),
               field_path);
        }
      } else {
        Walk(reflection->MutableMessage(message, field), field_path);
      }
    }
  }

  const std::set<std::string>& may_go() const { return may_go_; }
  int tried() const { return tried_; }

 private:
  void Try(google::protobuf::Message* message, const FieldDescriptor* field,
           const std::string& path) {
    ++tried_;
    v2::Manifest copy = *root_;
    message->GetReflection()->ClearField(message, field);
    const std::string edited =
        EditedManifestV2(root_->SerializeAsString(), [](v2::Manifest*) {});
    absl::Status status = DecodeV2(edited).status();
    if (status.ok()) {
      may_go_.insert(path);
    } else {
      EXPECT_NE(RefusalOf(status), Refusal::REFUSAL_UNSPECIFIED) << path;
    }
    // Restores what was taken away, in place, so that `message` stays valid.
    v2::Manifest again;
    ASSERT_TRUE(again.ParseFromString(copy.SerializeAsString()));
    Restore(again, field, path, message);
  }

  void Restore(const v2::Manifest& from, const FieldDescriptor* field,
               const std::string& path, google::protobuf::Message* message) {
    const google::protobuf::Message* source = &from;
    std::vector<std::string> parts;
    size_t begin = 0;
    while (true) {
      const size_t dot = path.find('.', begin);
      if (dot == std::string::npos) break;
      parts.push_back(path.substr(begin, dot - begin));
      begin = dot + 1;
    }
    for (const std::string& part : parts) {
      const FieldDescriptor* step =
          source->GetDescriptor()->FindFieldByName(part);
      source =
          step->is_repeated()
              ? &source->GetReflection()->GetRepeatedMessage(*source, step, 0)
              : &source->GetReflection()->GetMessage(*source, step);
    }
    std::unique_ptr<google::protobuf::Message> only(source->New());
    only->CopyFrom(*source);
    // Keep just this field, then merge it back.
    std::vector<const FieldDescriptor*> fields;
    only->GetReflection()->ListFields(*only, &fields);
    for (const FieldDescriptor* other : fields) {
      if (other != field) only->GetReflection()->ClearField(only.get(), other);
    }
    message->MergeFrom(*only);
  }

  v2::Manifest* const root_;
  const std::string intact_;
  std::set<std::string> may_go_;
  int tried_ = 0;
};

TEST(CodecV2, C37_AbsentIsNotZeroInAnyField) {
  const std::string manifest = Manifest(FullSnapshotInStep(60, 2));
  v2::Manifest message;
  ASSERT_TRUE(message.ParseFromString(manifest));
  FieldRemover remover(&message, manifest);
  remover.Walk(&message, "");
  EXPECT_GT(remover.tried(), 150);
  EXPECT_THAT(
      remover.may_go(),
      ::testing::UnorderedElementsAre(
          "about", "about.created_unix_nanos", "about.host", "about.writer",
          "config.fields.previous", "config.recorded", "early_stop.best",
          "ema.ramp", "environment.compiler", "environment.cpu_capability",
          "environment.device_name", "environment.libtorch_version",
          "environment.trainer_version", "evaluation.last",
          "model.initialisation", "model.modules_in_other_mode",
          "optimizer.groups.pattern", "sampler.augmentation",
          "schedule.parameters", "schedule.state.best",
          // The item is SAVED for its tensors too.
          "user",
          // The edit makes it right again.
          "value_digest", "witness.draws", "witness.next_lr",
          "witness.next_samples", "witness.next_scale"));
}

// Features come first of all.
// Rules: FOLD-6
TEST(CodecV2, UnknownRequiredFeatureIsNamed) {
  absl::Status status = Decoded([](v2::Manifest* m) {
    m->add_required_features("sparse-moments");
    // With it, other rules may not hold: this must not be what is reported.
    m->clear_scaler();
  });
  EXPECT_EQ(RefusalOf(status), Refusal::UNKNOWN_FEATURE);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sparse-moments"));
}

TEST(CodecV2, LaterMinorsAreReadAndTheirFieldsKept) {
  std::string manifest =
      Manifest(FullSnapshot(60)) + std::string("\x9a\x06\x03new", 6);
  EXPECT_EQ(RefusalOf(DecodeV2(manifest).status()), Refusal::CORRUPT);
  auto decoded = DecodeV2(manifest, 7);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(absl::EndsWith(decoded->message.SerializeAsString(), "new"));
}

TEST(CodecV2, StoredValueDigestMustAgree) {
  const std::string edited = EditedManifestV2(
      Manifest(FullSnapshot(60)),
      [](v2::Manifest* m) { m->mutable_scaler()->set_growth_tracker(1); },
      Repair::kEnvelope);
  absl::Status status = DecodeV2(edited).status();
  EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT);
  EXPECT_THAT(std::string(status.message()), HasSubstr("value digest"));
}

TEST(CodecV2, UnknownEnumValuesAreRefusedByName) {
  absl::Status status = Decoded([](v2::Manifest* m) {
    m->mutable_schedule()->set_unit(static_cast<v2::Schedule::Unit>(9));
  });
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("sched.unit: field schedule.unit has the value 9"));
}

// Walks both schemas: what they promise about themselves is so.
class SchemaTest : public ::testing::TestWithParam<const Descriptor*> {
 protected:
  void Walk(const Descriptor* type) {
    if (!seen_.insert(type).second) return;
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      EXPECT_FALSE(field->is_map()) << field->full_name();
      EXPECT_NE(field->cpp_type(), FieldDescriptor::CPPTYPE_INT32)
          << field->full_name();
      if (field->enum_type() != nullptr) {
        const auto* zero = field->enum_type()->FindValueByNumber(0);
        ASSERT_NE(zero, nullptr) << field->full_name();
        EXPECT_TRUE(absl::EndsWith(zero->name(), "UNSPECIFIED"))
            << zero->full_name();
        EXPECT_EQ(field->enum_type()->value(0), zero);
      } else if (field->message_type() != nullptr) {
        Walk(field->message_type());
      } else if (!field->is_repeated() &&
                 field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
        EXPECT_TRUE(field->has_presence()) << field->full_name();
      }
      if (field->is_repeated() && field->is_packable()) {
        EXPECT_TRUE(field->is_packed()) << field->full_name();
      }
    }
  }
  std::set<const Descriptor*> seen_;
};

TEST_P(SchemaTest, NoMapsExplicitPresenceAndEnumsStartUnspecified) {
  Walk(GetParam());
  EXPECT_GE(seen_.size(), 15u);
}

INSTANTIATE_TEST_SUITE_P(
    Versions, SchemaTest,
    ::testing::Values(checkpoint::v1::Checkpoint::descriptor(),
                      v2::Manifest::descriptor()));

// Every item has a field, or tensors, or is derived from the table.
TEST(SchemaV2, EveryItemHasAPlace) {
  std::set<int> items;
  std::set<const Descriptor*> seen;
  std::function<void(const Descriptor*)> walk = [&](const Descriptor* type) {
    if (!seen.insert(type).second) return;
    for (int i = 0; i < type->field_count(); ++i) {
      items.insert(ItemOfField(type->field(i)));
      if (type->field(i)->message_type() != nullptr) {
        walk(type->field(i)->message_type());
      }
    }
  };
  walk(v2::Manifest::descriptor());
  for (Item item : ItemsOfV2()) {
    const bool placed =
        items.count(item) > 0 || HasTensors(item) || item == Item::MODEL_TIES;
    EXPECT_TRUE(placed) << TextOf(item);
  }
  EXPECT_EQ(ItemsOfV2().size(), 50u);
}

}  // namespace
}  // namespace reprise
