#include "format/migrate/rename_v2.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v2/names.h"
#include "format/v2/value_digest.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"
#include "re2/re2.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool HasUnknownFields(const Message& message) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty()) return true;
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      if (HasUnknownFields(reflection->GetMessage(message, field))) return true;
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      if (HasUnknownFields(reflection->GetRepeatedMessage(message, field, i))) {
        return true;
      }
    }
  }
  return false;
}

class Renamer {
 public:
  Renamer(const ManifestV2& source, const RenameRules& rules)
      : source_(source), rules_(rules), message_(source.message) {}

  absl::StatusOr<RenamedV2> Run(absl::string_view manifest_digest) {
    if (HasUnknownFields(message_)) {
      return MakeRefusal(
          Refusal::UNKNOWN_FEATURE,
          "the checkpoint is of a later minor version and has fields that this "
          "program does not know; they may name parameters, so only a newer "
          "program can rename them");
    }
    absl::StatusOr<std::map<std::string, std::string>> names =
        rules_.Apply(AllNames());
    if (!names.ok()) return names.status();
    names_ = *std::move(names);
    absl::Status status = Modules();
    if (!status.ok()) return status;
    Frozen();
    Groups();
    absl::StatusOr<std::vector<TableEntry>> tensors = Table();
    if (!tensors.ok()) return tensors.status();
    RenamedV2 result;
    result.notes = Notes();
    v2::Migration* step = message_.add_history();
    step->set_from_major(kV2Major);
    step->set_to_major(kV2Major);
    step->set_program(kRenameProgram);
    step->set_source_manifest_digest(std::string(manifest_digest));
    for (const std::string& note : result.notes) step->add_notes(note);
    message_.set_value_digest(ValueDigest(message_, *tensors));
    if (!message_.SerializeToString(&result.manifest)) {
      return MakeRefusal(Refusal::LIMIT,
                         "protobuf could not serialise the manifest");
    }
    // It holds every rule of a manifest that a writer made.
    absl::StatusOr<ManifestV2> decoded = DecodeV2(result.manifest);
    if (!decoded.ok()) return Annotate(decoded.status(), "after renaming");
    result.decoded = *std::move(decoded);
    for (auto& [from, to] : names_) {
      if (from != to) result.names[from] = to;
    }
    return result;
  }

 private:
  // Of parameters and buffers, in the table and in the groups; those of the
  // user's own tensors stay.
  std::vector<std::string> AllNames() const {
    std::set<std::string> names;
    for (const TableEntry& entry : source_.tensors) {
      if (entry.item != Item::USER) names.insert(entry.name);
    }
    const Snapshot& snapshot = source_.snapshot;
    if (snapshot.optimizer.has_value()) {
      for (const ParameterGroup& group : snapshot.optimizer->groups) {
        names.insert(group.parameters.begin(), group.parameters.end());
      }
    }
    if (snapshot.frozen.has_value()) {
      names.insert(snapshot.frozen->begin(), snapshot.frozen->end());
    }
    return {names.begin(), names.end()};
  }

  const std::string& New(const std::string& name) const {
    return names_.at(name);
  }

  // A module is called what its tensors' names begin with: it is renamed as
  // they are.
  absl::StatusOr<std::string> NewModule(const std::string& module) const {
    const std::string prefix = absl::StrCat(module, ".");
    std::string renamed;
    for (auto at = names_.lower_bound(prefix);
         at != names_.end() && absl::StartsWith(at->first, prefix); ++at) {
      const std::string rest = at->first.substr(module.size());
      const bool fits =
          absl::EndsWith(at->second, rest) && at->second.size() > rest.size();
      const std::string to =
          fits ? at->second.substr(0, at->second.size() - rest.size()) : "";
      if (!fits || (!renamed.empty() && renamed != to)) {
        return MakeRefusal(
            Refusal::INVALID_VALUE,
            absl::StrCat("mode: the module ", module,
                         " is in the other mode, and after renaming ",
                         at->first, " to ", at->second,
                         " its parameters are in no one module"));
      }
      renamed = to;
    }
    // Without tensors, as dropout is, it follows the rules itself.
    return renamed.empty() ? rules_.Renamed(module) : renamed;
  }

  absl::Status Modules() {
    if (!source_.snapshot.mode.has_value() ||
        source_.snapshot.mode->modules_in_other_mode.empty()) {
      return absl::OkStatus();
    }
    std::vector<std::string> modules;
    for (const std::string& module :
         source_.snapshot.mode->modules_in_other_mode) {
      absl::StatusOr<std::string> renamed = NewModule(module);
      if (!renamed.ok()) return renamed.status();
      modules.push_back(*std::move(renamed));
    }
    std::sort(modules.begin(), modules.end());
    v2::Names* names =
        message_.mutable_model()->mutable_modules_in_other_mode();
    names->Clear();
    PackNames(modules, names);
    return absl::OkStatus();
  }

  void Frozen() {
    if (!source_.snapshot.frozen.has_value()) return;
    std::vector<std::string> frozen;
    for (const std::string& name : *source_.snapshot.frozen) {
      frozen.push_back(New(name));
    }
    std::sort(frozen.begin(), frozen.end());
    v2::Names* names = message_.mutable_model()->mutable_frozen();
    names->Clear();
    PackNames(frozen, names);
  }

  // In the order in which they are: steps lie beside the names.
  void Groups() {
    if (!source_.snapshot.optimizer.has_value()) return;
    const std::vector<ParameterGroup>& groups =
        source_.snapshot.optimizer->groups;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].parameters.empty()) continue;
      std::vector<std::string> parameters;
      for (const std::string& name : groups[i].parameters) {
        parameters.push_back(New(name));
      }
      NotePattern(groups[i], parameters);
      v2::Names* names = message_.mutable_optimizer()
                             ->mutable_groups(static_cast<int>(i))
                             ->mutable_parameters();
      names->Clear();
      PackNames(parameters, names);
    }
  }

  // What the pattern was is history and stays.
  void NotePattern(const ParameterGroup& group,
                   const std::vector<std::string>& parameters) {
    if (group.pattern.empty()) return;
    re2::RE2::Options quiet;
    quiet.set_log_errors(false);
    const re2::RE2 pattern(group.pattern, quiet);
    if (!pattern.ok()) return;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (re2::RE2::PartialMatch(group.parameters[i], pattern) &&
          !re2::RE2::PartialMatch(parameters[i], pattern)) {
        pattern_notes_.push_back(absl::StrCat(
            "group ", group.name, ": its pattern ", group.pattern,
            " stays as it was and does not match ", parameters[i]));
        return;
      }
    }
  }

  absl::StatusOr<std::vector<TableEntry>> Table() {
    std::vector<TableEntry> entries = source_.tensors;
    for (TableEntry& entry : entries) {
      if (entry.item != Item::USER) entry.name = New(entry.name);
    }
    std::vector<size_t> order(entries.size());  // new place to old
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return entries[a].Key() < entries[b].Key();
    });
    // Of tensors that are one storage, the first has the bytes.
    std::map<size_t, size_t> owners;  // old place of the old owner to new place
    std::vector<TableEntry> sorted;
    for (size_t old : order) {
      const size_t old_owner =
          entries[old].alias == 0 ? old : entries[old].alias - 1;
      auto [owner, is_first] = owners.emplace(old_owner, sorted.size());
      TableEntry entry = entries[old];
      entry.alias = is_first ? 0 : static_cast<uint32_t>(owner->second + 1);
      entry.extents =
          is_first ? entries[old_owner].extents : std::vector<Extent>();
      sorted.push_back(std::move(entry));
    }
    message_.clear_tensors();
    EncodeTable(sorted, message_.mutable_tensors());
    return sorted;
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    for (const std::string& text : rules_.Texts()) {
      notes.push_back(absl::StrCat("renamed by ", text));
    }
    notes.insert(notes.end(), pattern_notes_.begin(), pattern_notes_.end());
    for (const std::string& feature : message_.optional_features()) {
      notes.push_back(absl::StrCat("the feature ", feature,
                                   " is carried as it is, and may name "
                                   "parameters"));
    }
    return notes;
  }

  const ManifestV2& source_;
  const RenameRules& rules_;
  v2::Manifest message_;
  std::map<std::string, std::string> names_;
  std::vector<std::string> pattern_notes_;
};

}  // namespace

absl::StatusOr<RenamedV2> RenameV2(const ManifestV2& source,
                                   absl::string_view manifest_digest,
                                   const RenameRules& rules) {
  return Renamer(source, rules).Run(manifest_digest);
}

}  // namespace reprise
