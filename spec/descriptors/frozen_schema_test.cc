// That the comparison sees every kind of change, and no more.
#include "spec/descriptors/frozen_schema.h"

#include <functional>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FileDescriptorSet Schema() {
  FileDescriptorSet set;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        file {
          name: "a.proto"
          package: "p"
          syntax: "proto3"
          message_type {
            name: "M"
            field {
              name: "x"
              number: 1
              label: LABEL_OPTIONAL
              type: TYPE_UINT64
              oneof_index: 0
              proto3_optional: true
            }
            field {
              name: "e"
              number: 2
              label: LABEL_REPEATED
              type: TYPE_ENUM
              type_name: ".p.M.E"
            }
            field {
              name: "o"
              number: 3
              label: LABEL_OPTIONAL
              type: TYPE_STRING
              oneof_index: 1
            }
            enum_type {
              name: "E"
              value { name: "NONE" number: 0 }
              value { name: "ONE" number: 1 }
            }
            oneof_decl { name: "_x" }
            oneof_decl { name: "choice" }
          }
          enum_type {
            name: "F"
            value { name: "ZERO" number: 0 }
          }
          extension {
            name: "rule"
            extendee: ".google.protobuf.FieldOptions"
            number: 50001
            label: LABEL_OPTIONAL
            type: TYPE_ENUM
            type_name: ".p.F"
          }
        }
      )pb",
      &set));
  return set;
}

TEST(FrozenSchema, SchemaIsNoChangeOfItself) {
  EXPECT_THAT(ChangesOf(Schema(), Schema()), IsEmpty());
  EXPECT_THAT(AdditionsTo(Schema(), Schema()), IsEmpty());
}

TEST(FrozenSchema, SeesEveryKindOfChange) {
  const std::vector<std::function<void(FileDescriptorProto*, DescriptorProto*,
                                       FieldDescriptorProto*)>>
      edits = {
          [](auto* file, auto*, auto*) { file->set_name("b.proto"); },
          [](auto* file, auto*, auto*) { file->set_package("q"); },
          [](auto* file, auto*, auto*) { file->set_syntax("proto2"); },
          [](auto* file, auto*, auto*) { file->clear_message_type(); },
          [](auto* file, auto*, auto*) { file->clear_enum_type(); },
          [](auto* file, auto*, auto*) { file->clear_extension(); },
          [](auto* file, auto*, auto*) {
            file->mutable_extension(0)->set_number(50002);
          },
          [](auto*, auto* message, auto*) { message->set_name("N"); },
          [](auto*, auto* message, auto*) {
            message->mutable_field()->RemoveLast();
          },
          [](auto*, auto* message, auto*) {
            message->mutable_oneof_decl(1)->set_name("other");
          },
          [](auto*, auto* message, auto*) {
            message->mutable_enum_type(0)->mutable_value()->RemoveLast();
          },
          [](auto*, auto* message, auto*) {
            message->mutable_enum_type(0)->mutable_value(1)->set_number(2);
          },
          [](auto*, auto* message, auto*) {
            message->mutable_enum_type(0)->mutable_value(1)->set_name("TWO");
          },
          [](auto*, auto*, auto* field) { field->set_name("y"); },
          [](auto*, auto*, auto* field) { field->set_number(9); },
          [](auto*, auto*, auto* field) {
            field->set_type(FieldDescriptorProto::TYPE_INT64);
          },
          [](auto*, auto*, auto* field) {
            field->set_label(FieldDescriptorProto::LABEL_REPEATED);
          },
          [](auto*, auto*, auto* field) { field->clear_proto3_optional(); },
          [](auto*, auto* message, auto*) {
            message->mutable_field(1)->set_type_name(".p.F");
          },
      };
  for (size_t i = 0; i < edits.size(); ++i) {
    FileDescriptorSet now = Schema();
    FileDescriptorProto* file = now.mutable_file(0);
    DescriptorProto* message = file->mutable_message_type(0);
    edits[i](file, message, message->mutable_field(0));
    EXPECT_FALSE(ChangesOf(Schema(), now).empty()) << "edit " << i;
  }
}

TEST(FrozenSchema, SaysWhatWasExpectedAndFound) {
  FileDescriptorSet now = Schema();
  now.mutable_file(0)->mutable_message_type(0)->mutable_field(0)->set_name("y");
  EXPECT_THAT(
      ChangesOf(Schema(), now),
      ElementsAre("field 1 of p.M: expected \"x, TYPE_UINT64 , "
                  "LABEL_OPTIONAL, optional\", found \"y, TYPE_UINT64 , "
                  "LABEL_OPTIONAL, optional\""));
}

TEST(FrozenSchema, AdditionsAreNoChangeAndAreNamed) {
  FileDescriptorSet now = Schema();
  auto* message = now.mutable_file(0)->mutable_message_type(0);
  FieldDescriptorProto* field = message->add_field();
  field->set_name("z");
  field->set_number(4);
  field->set_type(FieldDescriptorProto::TYPE_STRING);
  message->mutable_enum_type(0)->add_value()->set_name("TWO");
  EXPECT_THAT(ChangesOf(Schema(), now), IsEmpty());
  EXPECT_THAT(AdditionsTo(Schema(), now),
              ElementsAre(HasSubstr("enum value p.M.E.TWO"),
                          HasSubstr("field 4 of p.M")));
}

}  // namespace
}  // namespace reprise
