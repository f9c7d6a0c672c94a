// The fields of TrainerConfig by path: the reflection that config.cc and its
// test share.
#ifndef REPRISE_TRAINER_CONFIG_FIELDS_H_
#define REPRISE_TRAINER_CONFIG_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"

namespace reprise {

// One field of one group.
struct ConfigFieldRef {
  const google::protobuf::FieldDescriptor* group = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;

  std::string path() const;
  vocabulary::v1::ResumeRule rule() const;
};

// All fields, in the order of the schema.
std::vector<ConfigFieldRef> AllConfigFields();

// INVALID_ARGUMENT naming the nearest and all valid groups or fields.
absl::StatusOr<ConfigFieldRef> FindConfigField(absl::string_view path);

bool HasConfigField(const trainer::v1::TrainerConfig& config,
                    const ConfigFieldRef& ref);
// Makes the field absent.
void ClearConfigField(trainer::v1::TrainerConfig* config,
                      const ConfigFieldRef& ref);
// Text that ParseConfigField reads back to the same bits. The default of
// protobuf (zero) when absent.
std::string FormatConfigField(const trainer::v1::TrainerConfig& config,
                              const ConfigFieldRef& ref);
// INVALID_ARGUMENT when `value` is not of the field's type.
absl::Status ParseConfigField(trainer::v1::TrainerConfig* config,
                              const ConfigFieldRef& ref,
                              absl::string_view value);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CONFIG_FIELDS_H_
