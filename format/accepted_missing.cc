#include "format/accepted_missing.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "format/version.h"
#include "format/vocabulary.h"

namespace reprise {
namespace {

constexpr char kProgram[] = "accepted_missing";
constexpr char kNoteStart[] = "at step ";

std::optional<AcceptedMissing> Parse(const MigrationRecord& record) {
  if (record.program != kProgram || record.notes.size() != 1) {
    return std::nullopt;
  }
  absl::string_view note = record.notes[0];
  AcceptedMissing once;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(note, absl::MaxSplits(": ", 1));
  absl::string_view step = parts.first;
  if (!absl::ConsumePrefix(&step, kNoteStart) ||
      !absl::SimpleAtoi(step, &once.step)) {
    return std::nullopt;
  }
  once.items = absl::StrSplit(parts.second, ' ', absl::SkipEmpty());
  once.manifest_digest = record.source_manifest_digest;
  return once;
}

}  // namespace

MigrationRecord AcceptedMissingRecord(const std::vector<Item>& items,
                                      uint64_t step,
                                      std::string manifest_digest) {
  MigrationRecord record;
  record.from_major = kNewestMajor;
  record.to_major = kNewestMajor;
  record.program = kProgram;
  record.source_manifest_digest = std::move(manifest_digest);
  record.notes = {
      absl::StrCat(kNoteStart, step, ": ",
                   absl::StrJoin(items, " ", [](std::string* out, Item item) {
                     out->append(TextOf(item));
                   }))};
  return record;
}

std::vector<AcceptedMissing> AcceptedMissingIn(
    const std::vector<MigrationRecord>& history) {
  std::vector<AcceptedMissing> all;
  for (const MigrationRecord& record : history) {
    if (auto once = Parse(record); once.has_value()) {
      all.push_back(*std::move(once));
    }
  }
  return all;
}

bool IsAcceptedMissing(const MigrationRecord& record) {
  return Parse(record).has_value();
}

}  // namespace reprise
