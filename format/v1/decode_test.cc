// Manifests whose message was changed: absent fields by name, values out of
// range, what belongs to later versions.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {
namespace {

namespace v1 = ::reprise::checkpoint::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::HasSubstr;

v1::Checkpoint SmallMessage() {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.attempt = 2;
  snapshot.parent = ParentRef{50, "fedcba9876543210"};
  v1::Checkpoint message;
  EXPECT_TRUE(message.ParseFromString(*EncodeV1(snapshot)));
  return message;
}

absl::Status Decode(const v1::Checkpoint& message, uint32_t minor = 0) {
  return DecodeV1(message.SerializeAsString(), minor).status();
}

absl::Status DecodeAfter(const std::function<void(v1::Checkpoint*)>& edit) {
  v1::Checkpoint message = SmallMessage();
  edit(&message);
  return Decode(message);
}

TEST(DecodeV1, WhatWasNotChangedPasses) {
  absl::Status status = Decode(SmallMessage());
  EXPECT_TRUE(status.ok()) << status;
}

// Fields that may be absent, by schema path.
bool MayBeAbsent(const std::string& path) {
  static const auto* const paths = new std::vector<std::string>{
      "about", "about.writer", "about.created_unix_nanos", "about.host",
      // Attempts that started afresh have no parent.
      "run.parent",
      // Runs without augmentation, and with streams that are not recorded.
      "sampler.augmentation",
      // Facts that a trainer without LibTorch does not have.
      "environment.trainer_version", "environment.libtorch_version",
      "environment.compiler", "environment.device_name",
      "environment.cpu_capability",
      // An empty value is one.
      "config.fields.value",
      // Says that a value was changed when resuming.
      "config.fields.previous"};
  for (const std::string& allowed : *paths) {
    if (path == allowed) return true;
  }
  return false;
}

// Calls `visit` for every field that is set, below `message`, with its schema
// path and a function that clears it.
void ForEachField(Message* message, const std::string& prefix,
                  const std::function<void(const std::string&,
                                           std::function<void()>)>& visit) {
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, std::string(field->name()));
    visit(path, [message, field] {
      message->GetReflection()->ClearField(message, field);
    });
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      const int size = message->GetReflection()->FieldSize(*message, field);
      for (int i = 0; i < size; ++i) {
        ForEachField(
            message->GetReflection()->MutableRepeatedMessage(message, field, i),
            path + ".", visit);
      }
    } else {
      ForEachField(message->GetReflection()->MutableMessage(message, field),
                   path + ".", visit);
    }
  }
}

size_t CountFields() {
  v1::Checkpoint message = SmallMessage();
  size_t count = 0;
  ForEachField(&message, "", [&](const std::string&, auto) { ++count; });
  return count;
}

// Rules: ITEM-4 LOAD-1
TEST(DecodeV1, C37_EveryFieldThatIsTakenAwayIsMissed) {
  const size_t count = CountFields();
  EXPECT_GT(count, 200u);
  for (size_t which = 0; which < count; ++which) {
    v1::Checkpoint message = SmallMessage();
    std::string path;
    size_t index = 0;
    std::function<void()> clear;
    ForEachField(&message, "",
                 [&](const std::string& at, std::function<void()> clearer) {
                   if (index++ == which) {
                     path = at;
                     clear = std::move(clearer);
                   }
                 });
    clear();
    absl::Status status = Decode(message);
    if (MayBeAbsent(path)) {
      EXPECT_TRUE(status.ok()) << path << ": " << status;
      continue;
    }
    EXPECT_FALSE(status.ok()) << path;
    // Nearly all are absent items; the others are contradictions.
    const bool contradiction = RefusalOf(status) == Refusal::INVALID_VALUE ||
                               RefusalOf(status) == Refusal::CORRUPT;
    EXPECT_TRUE(RefusalOf(status) == Refusal::MISSING_ITEM || contradiction)
        << path << ": " << status;
  }
}

// Rules: RUN-1 ITEM-4 SCHED-2
TEST(DecodeV1, C37_AbsentFieldsAreNamedWithTheirItem) {
  const std::vector<std::tuple<std::function<void(v1::Checkpoint*)>,
                               std::string, std::string>>
      cases = {
          {[](auto* m) { m->clear_step(); }, "counters.step", "field step"},
          {[](auto* m) { m->mutable_run()->clear_run_id(); }, "run",
           "run.run_id"},
          {[](auto* m) { m->mutable_run()->clear_attempt(); }, "run",
           "run.attempt"},
          {[](auto* m) { m->clear_model(); }, "model.params", "the model"},
          {[](auto* m) { m->mutable_model()->clear_parameters(); },
           "model.params", "no parameters"},
          {[](auto* m) { m->mutable_model()->clear_buffers(); },
           "model.buffers", "buffer"},
          {[](auto* m) { m->clear_optimizer(); }, "optim.kind",
           "the optimizer"},
          {[](auto* m) { m->mutable_optimizer()->clear_kind(); }, "optim.kind",
           "optimizer.kind"},
          {[](auto* m) { m->mutable_optimizer()->clear_groups(); },
           "optim.groups", "no groups"},
          {[](auto* m) {
             m->mutable_optimizer()->mutable_groups(0)->clear_lr();
           },
           "sched.applied", "groups[decay].lr"},
          {[](auto* m) {
             m->mutable_optimizer()->mutable_groups(1)->clear_base_lr();
           },
           "sched.base", "groups[no_decay].base_lr"},
          {[](auto* m) {
             m->mutable_optimizer()->mutable_groups(1)->clear_beta2();
           },
           "optim.groups", "beta2"},
          {[](auto* m) {
             for (auto& group : *m->mutable_optimizer()->mutable_groups()) {
               group.clear_parameters();
             }
             m->mutable_optimizer()->clear_states();
           },
           "optim.identity", "name"},
          {[](auto* m) {
             for (auto& state : *m->mutable_optimizer()->mutable_states()) {
               state.clear_moments();
             }
           },
           "optim.moments", "no moments"},
          {[](auto* m) {
             m->mutable_optimizer()->mutable_states()->RemoveLast();
           },
           "optim.step", "fc.bias"},
          {[](auto* m) {
             m->mutable_optimizer()->mutable_states(0)->clear_step();
           },
           "optim.step", "states[fc.weight].step"},
          {[](auto* m) {
             m->mutable_optimizer()
                 ->mutable_states(0)
                 ->mutable_moments()
                 ->RemoveLast();
           },
           "optim.moments", "exp_avg_sq is absent"},
          {[](auto* m) { m->clear_schedule(); }, "sched.definition",
           "the schedule"},
          {[](auto* m) { m->mutable_schedule()->clear_position(); },
           "sched.position", "schedule.position"},
          {[](auto* m) { m->mutable_schedule()->clear_unit(); }, "sched.unit",
           "schedule.unit"},
          {[](auto* m) { m->mutable_schedule()->clear_horizon(); },
           "sched.horizon", "schedule.horizon"},
          {[](auto* m) { m->mutable_schedule()->clear_warmup(); },
           "sched.definition", "schedule.warmup"},
          {[](auto* m) { m->clear_scaler(); }, "scaler.scale", "scaler"},
          {[](auto* m) { m->mutable_scaler()->clear_scale(); }, "scaler.scale",
           "scaler.scale is absent"},
          {[](auto* m) { m->mutable_scaler()->clear_growth_tracker(); },
           "scaler.growth_tracker", "scaler.growth_tracker is absent"},
          {[](auto* m) { m->mutable_scaler()->clear_growth_interval(); },
           "scaler.config", "growth_interval"},
          {[](auto* m) { m->mutable_scaler()->clear_arithmetic(); },
           "scaler.config", "scaler.arithmetic"},
          {[](auto* m) { m->clear_sampler(); }, "sampler.algorithm",
           "the sampler"},
          {[](auto* m) { m->mutable_sampler()->clear_seed(); }, "sampler.seed",
           "sampler.seed"},
          {[](auto* m) { m->mutable_sampler()->clear_epoch(); },
           "sampler.cursor", "sampler.epoch"},
          {[](auto* m) { m->mutable_sampler()->clear_batch_index(); },
           "sampler.cursor", "sampler.batch_index"},
          {[](auto* m) { m->mutable_sampler()->clear_batch_size(); },
           "data.batch", "sampler.batch_size"},
          {[](auto* m) { m->mutable_sampler()->clear_dataset_size(); },
           "sampler.order", "sampler.dataset_size"},
          {[](auto* m) { m->mutable_sampler()->clear_stream_algorithm(); },
           "rng.data", "stream_algorithm"},
          {[](auto* m) { m->clear_random(); }, "rng.cpu", "generator cpu"},
          {[](auto* m) {
             m->mutable_random()->mutable_generators(0)->clear_state();
           },
           "rng.cpu", "lacks its state"},
          {[](auto* m) { m->clear_config(); }, "config", "the configuration"},
          {[](auto* m) { m->clear_environment(); }, "environment",
           "the environment"},
          {[](auto* m) { m->mutable_environment()->clear_deterministic(); },
           "precision.flags", "environment.deterministic"},
          {[](auto* m) { m->mutable_environment()->clear_threads(); },
           "environment", "environment.threads"},
          {[](auto* m) { m->mutable_inventory()->RemoveLast(); }, "environment",
           "no record in the inventory"},
          {[](auto* m) { m->mutable_inventory(0)->clear_as_of_step(); },
           "model.params", "as_of_step"},
      };
  for (const auto& [edit, item, text] : cases) {
    absl::Status status = DecodeAfter(edit);
    EXPECT_EQ(RefusalOf(status), Refusal::MISSING_ITEM)
        << item << ": " << status;
    EXPECT_EQ(std::string(status.message()).substr(0, item.size() + 1),
              item + ":");
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

// Rules: ITEM-5
TEST(DecodeV1, DataOfItemsThatAreNotSavedIsAContradiction) {
  for (Item item :
       {Item::MODEL_BUFFERS, Item::OPTIM_MOMENTS, Item::OPTIM_GROUPS,
        Item::SCHED_POSITION, Item::SCALER_GROWTH_TRACKER, Item::SAMPLER_SEED,
        Item::RNG_CPU, Item::CONFIG, Item::SCHED_APPLIED, Item::OPTIM_STEP}) {
    for (Presence presence :
         {Presence::PRESENCE_NOT_APPLICABLE, Presence::PRESENCE_OMITTED}) {
      absl::Status status = DecodeAfter([&](v1::Checkpoint* message) {
        v1::ItemRecord* record = RecordOf(message, item);
        record->set_presence(presence);
        record->set_reason("for a test");
      });
      // lr of a run without a schedule is an option of its group.
      if (item == Item::SCHED_APPLIED &&
          presence == Presence::PRESENCE_NOT_APPLICABLE) {
        EXPECT_TRUE(status.ok()) << status;
        continue;
      }
      EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE)
          << TextOf(item) << ": " << status;
    }
  }
}

// Rules: TEN-2
TEST(DecodeV1, C36_TensorBytesMustFitTheShape) {
  for (const std::string& data :
       {std::string(), std::string(23, 'x'), std::string(25, 'x')}) {
    absl::Status status = DecodeAfter([&](v1::Checkpoint* message) {
      message->mutable_model()->mutable_parameters(0)->set_data(data);
    });
    EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("fc.weight: expected 24 bytes by its "
                                       "shape, found ",
                                       data.size())));
  }
}

// Rules: TEN-2
TEST(DecodeV1, C36_ShapesThatOverflowAreLimits) {
  for (const std::vector<uint64_t>& shape :
       {std::vector<uint64_t>{uint64_t{1} << 63},
        std::vector<uint64_t>{~uint64_t{0}},
        std::vector<uint64_t>{uint64_t{1} << 32, uint64_t{1} << 32},
        std::vector<uint64_t>{uint64_t{1} << 62, 2, 2},
        std::vector<uint64_t>{uint64_t{1} << 61}}) {
    absl::Status status = DecodeAfter([&](v1::Checkpoint* message) {
      v1::Tensor* tensor = message->mutable_model()->mutable_parameters(0);
      tensor->clear_shape();
      for (uint64_t extent : shape) tensor->add_shape(extent);
    });
    EXPECT_EQ(RefusalOf(status), Refusal::LIMIT) << status;
  }
}

// Rules: TEN-1
TEST(DecodeV1, C35_UnknownDtypesAreRefusedByName) {
  for (int dtype : {14, 99, -1}) {
    absl::Status status = DecodeAfter([&](v1::Checkpoint* message) {
      message->mutable_model()->mutable_parameters(0)->set_dtype(
          static_cast<v1::DType>(dtype));
    });
    EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("fc.weight: dtype ", dtype)));
  }
}

// Rules: DATA-2
TEST(DecodeV1, C11_PositionsOutsideTheEpochAreRefused) {
  const std::vector<std::function<void(v1::Sampler*)>> edits = {
      [](auto* sampler) { sampler->set_batch_index(100); },
      [](auto* sampler) { sampler->set_batch_index(~uint64_t{0}); },
      [](auto* sampler) { sampler->set_epoch(~uint64_t{0}); },
      // 2^64 + 4 samples.
      [](auto* sampler) {
        sampler->set_epoch(~uint64_t{0} / 1000);
        sampler->set_batch_index(62);
      },
      [](auto* sampler) { sampler->set_batch_size(0); },
      [](auto* sampler) { sampler->set_dataset_size(9); },
  };
  for (const auto& edit : edits) {
    absl::Status status = DecodeAfter(
        [&](v1::Checkpoint* message) { edit(message->mutable_sampler()); });
    EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE) << status;
  }
}

// Rules: ITEM-1
TEST(DecodeV1, InventoriesHoldEachItemOfVersion1Once) {
  absl::Status status = DecodeAfter([](v1::Checkpoint* message) {
    *message->add_inventory() = message->inventory(0);
  });
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(status.message()), HasSubstr("twice"));
  for (int item : {int{Item::EMA_WEIGHTS}, int{Item::RUN}, 999, 0}) {
    auto add = [item](v1::Checkpoint* message) {
      v1::ItemRecord* record = message->add_inventory();
      record->set_item(static_cast<Item>(item));
      record->set_presence(Presence::PRESENCE_SAVED);
      record->set_as_of_step(60);
    };
    EXPECT_EQ(RefusalOf(DecodeAfter(add)), Refusal::INVALID_VALUE) << item;
    // A later minor version may know more items.
    v1::Checkpoint message = SmallMessage();
    add(&message);
    EXPECT_TRUE(Decode(message, 1).ok()) << item;
  }
}

// Rules: ITEM-2
TEST(DecodeV1, PresencesOutsideTheVocabularyAreRefused) {
  for (int presence : {0, 5, 77}) {
    EXPECT_EQ(RefusalOf(DecodeAfter([&](v1::Checkpoint* message) {
                RecordOf(message, Item::CLIP)
                    ->set_presence(static_cast<Presence>(presence));
              })),
              Refusal::INVALID_VALUE)
        << presence;
  }
}

}  // namespace
}  // namespace reprise
