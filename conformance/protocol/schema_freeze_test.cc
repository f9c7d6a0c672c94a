// The protocol only grows: every message, field, enum and value of schema.txt
// is still in the schema under the same number, name and type. schema.txt is
// the released surface; additions are appended to it by
//
//   bazel run //conformance/protocol:schema_freeze_test -- --update
//
// run from the top of the tree, which refuses to drop a line.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise::conformance {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

void DumpEnum(const EnumDescriptor& type, std::vector<std::string>* lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines->push_back(absl::StrCat(type.full_name(), " value ",
                                  type.value(i)->number(), " ",
                                  type.value(i)->name()));
  }
}

void DumpMessage(const Descriptor& type, std::vector<std::string>* lines) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    std::string kind = field.message_type() ? field.message_type()->full_name()
                       : field.enum_type()  ? field.enum_type()->full_name()
                                            : field.type_name();
    const auto* oneof = field.real_containing_oneof();
    lines->push_back(absl::StrCat(
        type.full_name(), " field ", field.number(), " ", field.name(), " ",
        field.is_repeated()    ? "repeated "
        : oneof                ? absl::StrCat("oneof ", oneof->name(), " ")
        : field.has_presence() ? "optional "
                               : "implicit ",
        kind));
  }
  for (int i = 0; i < type.nested_type_count(); ++i) {
    DumpMessage(*type.nested_type(i), lines);
  }
  for (int i = 0; i < type.enum_type_count(); ++i) {
    DumpEnum(*type.enum_type(i), lines);
  }
}

std::vector<std::string> CurrentSchema() {
  const auto* file = v1::Event::descriptor()->file();
  std::vector<std::string> lines;
  for (int i = 0; i < file->message_type_count(); ++i) {
    DumpMessage(*file->message_type(i), &lines);
  }
  for (int i = 0; i < file->enum_type_count(); ++i) {
    DumpEnum(*file->enum_type(i), &lines);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

constexpr char kReleased[] = "conformance/protocol/schema.txt";

std::vector<std::string> Difference(const std::vector<std::string>& from,
                                    const std::vector<std::string>& what) {
  std::set<std::string> remove(what.begin(), what.end());
  std::vector<std::string> left;
  for (const std::string& line : from) {
    if (remove.count(line) == 0) left.push_back(line);
  }
  return left;
}

TEST(Schema, NothingReleasedWasRemovedRenumberedRetypedOrRenamed) {
  std::vector<std::string> released = ReadLines(kReleased);
  ASSERT_GT(released.size(), 100u);
  EXPECT_EQ(absl::StrJoin(Difference(released, CurrentSchema()), "\n"), "");
}

TEST(Schema, EveryAdditionIsRecorded) {
  EXPECT_EQ(
      absl::StrJoin(Difference(CurrentSchema(), ReadLines(kReleased)), "\n"),
      "")
      << "record additions with --update (top of this file)";
}

TEST(Schema, ARetypedFieldIsADifference) {
  std::vector<std::string> released = CurrentSchema();
  for (std::string& line : released) {
    if (line.find("StepEvent field 5 loss") != std::string::npos) {
      line += "2";
    }
  }
  EXPECT_EQ(Difference(released, CurrentSchema()).size(), 1u);
}

int Update() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  std::string path =
      absl::StrCat(workspace == nullptr ? "." : workspace, "/", kReleased);
  std::vector<std::string> dropped =
      Difference(ReadLines(path), CurrentSchema());
  if (!dropped.empty()) {
    std::cerr << "refused, these would be dropped:\n"
              << absl::StrJoin(dropped, "\n") << "\n";
    return 1;
  }
  std::ofstream(path) << absl::StrJoin(CurrentSchema(), "\n") << "\n";
  return 0;
}

}  // namespace
}  // namespace reprise::conformance

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--update") {
    return reprise::conformance::Update();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
