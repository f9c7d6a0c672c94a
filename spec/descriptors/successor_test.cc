// Nothing that version 1 records has been forgotten by version 2: every field
// of the one has a place in the other, or is listed here with the reason.
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "reprise/spec/v1/checkpoint.pb.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// Paths of all fields that hold a value, "schedule.position" -> its type.
// Messages of the v2 table, and lists of names, hold values as a whole.
void AddLeaves(const Descriptor* type, const std::string& prefix,
               std::map<std::string, std::string>* leaves) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const std::string path = absl::StrCat(prefix, std::string(field->name()));
    if (field->message_type() != nullptr &&
        field->message_type()->name() != "Names" &&
        field->message_type()->name() != "TensorTable") {
      AddLeaves(field->message_type(), absl::StrCat(path, "."), leaves);
      continue;
    }
    (*leaves)[path] =
        absl::StrCat(field->is_repeated() ? "repeated " : "",
                     field->message_type() != nullptr
                         ? std::string(field->message_type()->name())
                     : field->enum_type() != nullptr
                         ? std::string(field->enum_type()->name())
                         : std::string(field->cpp_type_name()));
  }
}

std::map<std::string, std::string> LeavesOf(const Descriptor* type) {
  std::map<std::string, std::string> leaves;
  AddLeaves(type, "", &leaves);
  return leaves;
}

// Where a field of version 1 went that has not kept its path.
const std::map<std::string, std::string>& Moved() {
  static const auto* const moved = new std::map<std::string, std::string>{
      // Tensors are rows of one table; their bytes lie in shards.
      {"model.parameters.name", "tensors"},
      {"model.parameters.dtype", "tensors"},
      {"model.parameters.shape", "tensors"},
      {"model.parameters.data", "shards.size"},
      {"model.buffers.name", "tensors"},
      {"model.buffers.dtype", "tensors"},
      {"model.buffers.shape", "tensors"},
      {"model.buffers.data", "shards.size"},
      {"optimizer.states.moments.name", "tensors"},
      {"optimizer.states.moments.dtype", "tensors"},
      {"optimizer.states.moments.shape", "tensors"},
      {"optimizer.states.moments.data", "shards.size"},
      // Steps are a column beside the names of the group.
      {"optimizer.states.parameter", "optimizer.groups.parameters"},
      {"optimizer.states.step", "optimizer.groups.steps"},
      // The cursor itself, which these two stood for.
      {"sampler.epoch", "sampler.cursor"},
      {"sampler.batch_index", "sampler.cursor"},
      // By kind of generator.
      {"random.generators.name", "random.cpu.name"},
      {"random.generators.algorithm", "random.cpu.algorithm"},
      {"random.generators.library", "random.cpu.library"},
      {"random.generators.state", "random.cpu.state"},
      // Flags of the arithmetic are no fact about the machine.
      {"environment.autocast_dtype", "precision.autocast_dtype"},
      {"environment.deterministic", "precision.deterministic"},
      {"environment.allow_tf32", "precision.allow_tf32"},
  };
  return *moved;
}

// Fields that have kept their path and not their type.
const std::map<std::string, std::string>& Retyped() {
  static const auto* const retyped = new std::map<std::string, std::string>{
      // One text and lengths instead of many strings.
      {"optimizer.groups.parameters", "Names"},
  };
  return *retyped;
}

TEST(Successor, EveryFieldOfVersion1HasAPlaceInVersion2) {
  const auto v1 = LeavesOf(checkpoint::v1::Checkpoint::descriptor());
  const auto v2 = LeavesOf(checkpoint::v2::Manifest::descriptor());
  EXPECT_GE(v1.size(), 70u);
  std::set<std::string> used;
  for (const auto& [path, type] : v1) {
    auto moved = Moved().find(path);
    if (moved != Moved().end()) {
      EXPECT_EQ(v2.count(path), 0u) << path << " is listed as moved, and there";
      EXPECT_EQ(v2.count(moved->second), 1u) << path << " -> " << moved->second;
      used.insert(path);
      continue;
    }
    auto found = v2.find(path);
    ASSERT_NE(found, v2.end()) << path << " of version 1 is nowhere in 2";
    auto retyped = Retyped().find(path);
    if (retyped == Retyped().end()) {
      EXPECT_EQ(found->second, type) << path;
    } else {
      EXPECT_EQ(found->second, retyped->second) << path;
      EXPECT_NE(found->second, type) << path << " is listed as retyped";
      used.insert(path);
    }
  }
  EXPECT_EQ(used.size(), Moved().size() + Retyped().size())
      << "a listed field is none of version 1";
}

// Numbers of dtypes and units are in snapshots, which know no version.
TEST(Successor, EnumsOfVersion1KeepTheirNumbersInVersion2) {
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  checkpoint::v1::Checkpoint::descriptor();
  checkpoint::v2::Manifest::descriptor();
  int compared = 0;
  for (const char* name : {"DType", "Schedule.Unit"}) {
    const EnumDescriptor* v1 =
        pool->FindEnumTypeByName(absl::StrCat("reprise.checkpoint.v1.", name));
    const EnumDescriptor* v2 =
        pool->FindEnumTypeByName(absl::StrCat("reprise.checkpoint.v2.", name));
    ASSERT_NE(v1, nullptr) << name;
    ASSERT_NE(v2, nullptr) << name;
    for (int i = 0; i < v1->value_count(); ++i) {
      const auto* value = v2->FindValueByName(v1->value(i)->name());
      ASSERT_NE(value, nullptr) << v1->value(i)->full_name();
      EXPECT_EQ(value->number(), v1->value(i)->number())
          << v1->value(i)->full_name();
      ++compared;
    }
  }
  EXPECT_EQ(compared, 19);
}

// SPEC.md: version 2 has no map, no enum whose first value means something, and
// no required scalar whose zero cannot be told from absence.
void CheckConventions(const Descriptor* type, std::set<std::string>* seen) {
  if (!seen->insert(std::string(type->full_name())).second) return;
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    EXPECT_FALSE(field->is_map()) << field->full_name();
    if (field->enum_type() != nullptr) {
      const std::string zero(field->enum_type()->value(0)->name());
      EXPECT_EQ(field->enum_type()->value(0)->number(), 0);
      EXPECT_THAT(zero, testing::EndsWith("UNSPECIFIED")) << field->full_name();
    }
    const bool number = field->cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
                        field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM &&
                        field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
    if (number && !field->is_repeated()) {
      EXPECT_TRUE(field->has_presence())
          << field->full_name() << ": is 0 a value or absence?";
    }
    if (field->message_type() != nullptr) {
      CheckConventions(field->message_type(), seen);
    }
  }
}

TEST(Successor, Version2SaysAbsenceAndKeepsOrder) {
  std::set<std::string> seen;
  CheckConventions(checkpoint::v2::Manifest::descriptor(), &seen);
  EXPECT_GE(seen.size(), 30u);
}

}  // namespace
}  // namespace reprise
