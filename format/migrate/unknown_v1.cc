#include "format/migrate/unknown_v1.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/v1/items.h"
#include "format/version.h"
#include "format/vocabulary.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Collect(const Message& message, const std::string& path,
             std::vector<std::string>* lines) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown =
      reflection->GetUnknownFields(message);
  if (!unknown.empty()) {
    std::string bytes;
    if (unknown.SerializeToString(&bytes)) {
      lines->push_back(absl::StrCat("unknown content of ",
                                    path.empty() ? "the manifest" : path, ": ",
                                    absl::BytesToHexString(bytes)));
    }
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    const std::string inner =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (!field->is_repeated()) {
      Collect(reflection->GetMessage(message, field), inner, lines);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      Collect(reflection->GetRepeatedMessage(message, field, i),
              absl::StrCat(inner, "[", i, "]"), lines);
    }
  }
}

}  // namespace

std::vector<std::string> UnknownContentOfV1(absl::string_view manifest,
                                            uint32_t minor) {
  std::vector<std::string> lines;
  checkpoint::v1::Checkpoint message;
  if (minor <= kV1Minor ||
      !message.ParseFromArray(manifest.data(),
                              static_cast<int>(manifest.size()))) {
    return lines;
  }
  for (const checkpoint::v1::ItemRecord& record : message.inventory()) {
    const std::vector<Item>& known = ItemsOfV1();
    if (std::find(known.begin(), known.end(), record.item()) != known.end()) {
      continue;
    }
    lines.push_back(absl::StrCat(
        "record of the item ", static_cast<int>(record.item()),
        ", which version 1.0 does not have: ", TextOf(record.presence()),
        record.reason().empty() ? "" : ", ", record.reason()));
  }
  Collect(message, "", &lines);
  return lines;
}

}  // namespace reprise
