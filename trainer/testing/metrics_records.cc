#include "trainer/testing/metrics_records.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace reprise {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using google::protobuf::Value;

std::string Text(const Value& value) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      return absl::StrFormat("%.17g", value.number_value());
    case Value::kStringValue:
      return value.string_value();
    case Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case Value::kStructValue: {
      const auto bits = value.struct_value().fields().find("bits");
      if (bits != value.struct_value().fields().end())
        return Text(bits->second);
      std::map<std::string, std::string> inner;
      for (const auto& field : value.struct_value().fields()) {
        inner[field.first] = Text(field.second);
      }
      return absl::StrCat(
          "{", absl::StrJoin(inner, ",", absl::PairFormatter(":")), "}");
    }
    case Value::kListValue:
      return absl::StrJoin(value.list_value().values(), ",",
                           [](std::string* out, const Value& element) {
                             out->append(Text(element));
                           });
    default:
      return "null";
  }
}

absl::StatusOr<uint64_t> Count(const Struct& line, const std::string& name) {
  const auto field = line.fields().find(name);
  if (field == line.fields().end() || !field->second.has_number_value() ||
      field->second.number_value() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a count in \"", name, "\""));
  }
  return static_cast<uint64_t>(field->second.number_value());
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// `cut_lines`: lines that a kill cut may stand between the others.
absl::StatusOr<std::vector<MetricsRecord>> ReadFile(const std::string& path,
                                                    bool cut_lines) {
  std::vector<MetricsRecord> records;
  std::vector<std::string> lines = absl::StrSplit(ReadWhole(path), '\n');
  lines.pop_back();  // empty, or cut
  for (const std::string& line : lines) {
    if (cut_lines && !absl::EndsWith(line, "}")) continue;
    absl::StatusOr<MetricsRecord> record = ParseMetricsLine(line);
    if (!record.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ":", records.size() + 1, ": ", record.status().message()));
    }
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace

absl::StatusOr<MetricsRecord> ParseMetricsLine(absl::string_view line) {
  Struct parsed;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(line.data(), line.size()), &parsed);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON (", std::string(status.message()), "): ", line));
  }
  MetricsRecord record;
  absl::StatusOr<uint64_t> attempt = Count(parsed, "attempt");
  absl::StatusOr<uint64_t> step = Count(parsed, "step");
  if (!attempt.ok() || !step.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        (attempt.ok() ? step : attempt).status().message(), ": ", line));
  }
  record.attempt = *attempt;
  record.step = *step;
  record.type = Text((*parsed.mutable_fields())["type"]);
  for (const auto& field : parsed.fields()) {
    if (field.first == "type" || field.first == "attempt" ||
        field.first == "step") {
      continue;
    }
    record.channels[field.first] = Text(field.second);
  }
  return record;
}

absl::StatusOr<MetricsRecords> ReadMetrics(const std::string& run_folder) {
  auto kept =
      ReadFile(absl::StrCat(run_folder, "/metrics.jsonl"), /*cut_lines=*/false);
  if (!kept.ok()) return kept.status();
  auto superseded =
      ReadFile(absl::StrCat(run_folder, "/metrics.superseded.jsonl"),
               /*cut_lines=*/true);
  if (!superseded.ok()) return superseded.status();
  return MetricsRecords{*std::move(kept), *std::move(superseded)};
}

uint64_t LastRecordedStep(const std::string& run_folder) {
  // A test asks while the trainer runs and wants to be quick: from the end.
  std::vector<std::string> lines = absl::StrSplit(
      ReadWhole(absl::StrCat(run_folder, "/metrics.jsonl")), '\n');
  lines.pop_back();  // empty, or cut
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const absl::StatusOr<MetricsRecord> record = ParseMetricsLine(*line);
    if (record.ok() && record->type == "step") return record->step;
  }
  return 0;
}

}  // namespace reprise
