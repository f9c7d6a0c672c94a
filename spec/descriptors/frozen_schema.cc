#include "spec/descriptors/frozen_schema.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "reprise/spec/v2/annotations.pb.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

namespace reprise {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;

// Path of a thing in the schema -> what must not change about it.
using Facts = std::map<std::string, std::string>;

template <typename Containing>
std::string Describe(const FieldDescriptorProto& field,
                     const Containing* message) {
  std::string text = absl::StrCat(
      field.name(), ", ", FieldDescriptorProto::Type_Name(field.type()), " ",
      field.type_name(), ", ", FieldDescriptorProto::Label_Name(field.label()),
      field.proto3_optional() ? ", optional" : "",
      field.has_extendee() ? absl::StrCat(", extends ", field.extendee()) : "");
  if (message != nullptr && field.has_oneof_index() &&
      !field.proto3_optional()) {
    absl::StrAppend(&text, ", in oneof ",
                    message->oneof_decl(field.oneof_index()).name());
  }
  return text;
}

void AddEnum(const std::string& path, const EnumDescriptorProto& type,
             Facts* facts) {
  (*facts)[absl::StrCat("enum ", path)] = "";
  for (const auto& value : type.value()) {
    // By name: two names may share a number.
    (*facts)[absl::StrCat("enum value ", path, ".", value.name())] =
        absl::StrCat(value.number(), " ", value.options().ShortDebugString());
  }
}

void AddMessage(const std::string& path, const DescriptorProto& type,
                Facts* facts) {
  (*facts)[absl::StrCat("message ", path)] =
      type.options().map_entry() ? "map entry" : "";
  for (const FieldDescriptorProto& field : type.field()) {
    (*facts)[absl::StrCat("field ", field.number(), " of ", path)] =
        Describe(field, &type);
  }
  for (const FieldDescriptorProto& extension : type.extension()) {
    (*facts)[absl::StrCat("extension ", path, " ", extension.number())] =
        Describe(extension, &type);
  }
  for (const DescriptorProto& nested : type.nested_type()) {
    AddMessage(absl::StrCat(path, ".", nested.name()), nested, facts);
  }
  for (const EnumDescriptorProto& nested : type.enum_type()) {
    AddEnum(absl::StrCat(path, ".", nested.name()), nested, facts);
  }
}

Facts FactsOf(const FileDescriptorSet& set) {
  Facts facts;
  for (const FileDescriptorProto& file : set.file()) {
    facts[absl::StrCat("file ", file.name())] =
        absl::StrCat(file.syntax(), ", package ", file.package());
    for (const DescriptorProto& type : file.message_type()) {
      AddMessage(absl::StrCat(file.package(), ".", type.name()), type, &facts);
    }
    for (const EnumDescriptorProto& type : file.enum_type()) {
      AddEnum(absl::StrCat(file.package(), ".", type.name()), type, &facts);
    }
    for (const FieldDescriptorProto& extension : file.extension()) {
      facts[absl::StrCat("extension ", file.package(), " ",
                         extension.number())] =
          Describe<DescriptorProto>(extension, nullptr);
    }
  }
  return facts;
}

}  // namespace

std::vector<std::string> ChangesOf(const FileDescriptorSet& frozen,
                                   const FileDescriptorSet& now) {
  const Facts found = FactsOf(now);
  std::vector<std::string> changes;
  for (const auto& [path, fact] : FactsOf(frozen)) {
    const auto it = found.find(path);
    if (it == found.end()) {
      changes.push_back(absl::StrCat(path, " (", fact, "): removed"));
    } else if (it->second != fact) {
      changes.push_back(absl::StrCat(path, ": expected \"", fact,
                                     "\", found \"", it->second, "\""));
    }
  }
  return changes;
}

std::vector<std::string> AdditionsTo(const FileDescriptorSet& frozen,
                                     const FileDescriptorSet& now) {
  const Facts before = FactsOf(frozen);
  std::vector<std::string> additions;
  for (const auto& [path, fact] : FactsOf(now)) {
    if (before.count(path) == 0) {
      additions.push_back(absl::StrCat(path, " (", fact, "): added"));
    }
  }
  return additions;
}

FileDescriptorSet ReadDescriptorSet(const std::string& path) {
  // Keeps these in the program: the texts name their options.
  vocabulary::v1::Item_descriptor();
  google::protobuf::FieldOptions().HasExtension(checkpoint::v2::item);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  FileDescriptorSet set;
  const bool parsed =
      absl::EndsWith(path, ".textproto")
          ? google::protobuf::TextFormat::ParseFromString(content.str(), &set)
          : set.ParseFromString(content.str());
  if (!file.good() || !parsed || set.file_size() == 0) {
    std::cerr << path << ": no descriptor set; is it in the test's data?\n";
    std::abort();
  }
  return set;
}

}  // namespace reprise
