// Renames the parameters and buffers of a version 2 checkpoint, and with them
// everything that belongs to them: moments, masters, gradients, EMA weights,
// ties, the groups' lists, frozen ones, modules in the other mode. No byte of a
// tensor moves: the new manifest names the same extents of the same shards.
//
// Example (a test as well):
//
//   auto rules = reprise::RenameRules::Parse("^fc\\. -> head.");
//   auto renamed = reprise::RenameV2(reader->manifest(), manifest_digest,
//   *rules); if (!renamed.ok()) return renamed.status();
//   ... write renamed->manifest beside links to the shards ...
//
// The rules are MIG-10 and MIG-11 of spec/SPEC.md. Thread-safe.
#ifndef REPRISE_FORMAT_MIGRATE_RENAME_V2_H_
#define REPRISE_FORMAT_MIGRATE_RENAME_V2_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/migrate/rename_rules.h"
#include "format/v2/codec.h"

namespace reprise {

// `program` of the record in the history.
constexpr char kRenameProgram[] = "reprise rename 1";

struct RenamedV2 {
  std::string manifest;
  // The same, decoded.
  ManifestV2 decoded;
  // Old name to new, of those that changed.
  std::map<std::string, std::string> names;
  // What a person should know, also in the history: each rule, and what could
  // not follow it.
  std::vector<std::string> notes;
};

// User's tensors and values keep their names. Errors: INVALID_ARGUMENT (rules
// that do not fit the names); UNKNOWN_FEATURE when a later minor version has
// fields that this program does not know, as they may name parameters;
// INVALID_VALUE naming `mode` when parameters of a module in the other mode
// would no longer be in one module.
absl::StatusOr<RenamedV2> RenameV2(const ManifestV2& source,
                                   absl::string_view manifest_digest,
                                   const RenameRules& rules);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_RENAME_V2_H_
