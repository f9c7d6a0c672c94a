#include "conformance/log_adapter/adapter_file.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "re2/re2.h"

namespace reprise::conformance {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using v1::Adapter;
using v1::LinePattern;

const std::set<std::string>& GroupsOf(LinePattern::Kind kind) {
  static const auto* const step = new std::set<std::string>{
      "step",    "total",   "loss",        "lr",  "lr2",
      "scale",   "skipped", "grad_norm",   "ids", "epoch",
      "samples", "applied", "update_norm",
  };
  static const auto* const evaluation =
      new std::set<std::string>{"step", "loss", "ema_loss", "metric", "best"};
  static const auto* const checkpoint =
      new std::set<std::string>{"step", "name"};
  static const auto* const finished = new std::set<std::string>{"step"};
  switch (kind) {
    case LinePattern::STEP:
    case LinePattern::CARRY:
      return *step;
    case LinePattern::EVALUATION:
      return *evaluation;
    case LinePattern::FINISHED:
      return *finished;
    default:
      return *checkpoint;
  }
}

// The first complaint of the parser, with its place counted from 1.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string path) : path_(std::move(path)) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat(path_, ":", line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  const std::string path_;
  std::string text_;
};

// Names in braces that look like placeholders.
std::vector<std::string> NamesIn(absl::string_view text) {
  static const RE2* const placeholder = new RE2(R"(\{([a-z][a-z0-9_]*)\})");
  std::vector<std::string> names;
  re2::StringPiece rest(text.data(), text.size());
  std::string name;
  while (RE2::FindAndConsume(&rest, *placeholder, &name)) names.push_back(name);
  return names;
}

// Checks what the grammar of the text format cannot.
class Checker {
 public:
  Checker(const std::string& path, const Adapter& adapter,
          const TextFormat::ParseInfoTree& places)
      : path_(path), adapter_(adapter), places_(places) {
    known_ = {"run_folder", "steps", "save_every", "seed", "adapter_folder"};
    for (const v1::Variable& value : adapter.values()) {
      known_.insert(value.name());
    }
  }

  absl::Status Check() {
    if (adapter_.name().empty()) Complain("name", -1, "the name is missing");
    if (adapter_.command().empty()) {
      Complain("command", -1, "the command is missing");
    }
    CheckStrings("command", adapter_.command(), false);
    CheckStrings("fresh_arguments", adapter_.fresh_arguments(), false);
    CheckStrings("resume_arguments", adapter_.resume_arguments(), true);
    CheckVariables("environment", adapter_.environment(), false);
    CheckVariables("resume_environment", adapter_.resume_environment(), true);
    CheckLines();
    CheckCheckpoints();
    return status_;
  }

 private:
  const FieldDescriptor* Field(const google::protobuf::Descriptor* type,
                               const char* name) const {
    return type->FindFieldByName(name);
  }

  void ComplainAt(TextFormat::ParseLocation place, const std::string& text) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        place.line < 0 ? absl::StrCat(path_, ": ", text)
                       : absl::StrCat(path_, ":", place.line + 1, ":",
                                      place.column + 1, ": ", text));
  }
  void Complain(const char* field, int index, const std::string& text) {
    const FieldDescriptor* what = Field(Adapter::descriptor(), field);
    // A repeated field as a whole has no place.
    ComplainAt(what->is_repeated() && index < 0
                   ? TextFormat::ParseLocation()
                   : places_.GetLocation(what, index),
               text);
  }

  std::string UnknownName(const std::string& text, bool resumes) const {
    for (const std::string& name : NamesIn(text)) {
      if (known_.count(name) > 0) continue;
      const bool checkpoint =
          name == "checkpoint" || name == "checkpoint_folder";
      if (checkpoint && resumes) continue;
      return checkpoint
                 ? absl::StrCat("{", name,
                                "} is known only where an attempt resumes")
                 : absl::StrCat("nothing defines the placeholder {", name,
                                "}; known are run_folder, steps, save_every, "
                                "seed, adapter_folder and those of \"values\"");
    }
    return "";
  }

  template <typename Strings>
  void CheckStrings(const char* field, const Strings& strings, bool resumes) {
    for (int i = 0; i < strings.size(); ++i) {
      const std::string unknown = UnknownName(strings.Get(i), resumes);
      if (!unknown.empty()) Complain(field, i, unknown);
    }
  }

  template <typename Variables>
  void CheckVariables(const char* field, const Variables& variables,
                      bool resumes) {
    for (int i = 0; i < variables.size(); ++i) {
      const std::string unknown =
          UnknownName(variables.Get(i).value(), resumes);
      if (!unknown.empty()) Complain(field, i, unknown);
      if (variables.Get(i).name().empty()) {
        Complain(field, i, "the name is missing");
      }
    }
  }

  void CheckLines() {
    bool has_step = false;
    bool has_carry = false;
    for (const LinePattern& line : adapter_.lines()) {
      has_step = has_step || line.kind() == LinePattern::STEP;
      has_carry = has_carry || line.kind() == LinePattern::CARRY;
    }
    for (int i = 0; i < adapter_.lines_size(); ++i) {
      CheckLine(adapter_.lines(i), i, has_carry);
    }
    if (!has_step) {
      Complain("lines", -1,
               "no line of kind STEP: nothing would be known of the training");
    }
  }

  void CheckLine(const LinePattern& line, int index, bool has_carry) {
    const FieldDescriptor* lines = Field(Adapter::descriptor(), "lines");
    const TextFormat::ParseInfoTree* inside =
        places_.GetTreeForNested(lines, index);
    const auto complain = [&](const char* field, const std::string& text) {
      TextFormat::ParseLocation place;
      if (inside != nullptr) {
        place =
            inside->GetLocation(Field(LinePattern::descriptor(), field), -1);
      }
      if (place.line < 0) place = places_.GetLocation(lines, index);
      ComplainAt(place, text);
    };
    if (line.kind() == LinePattern::KIND_UNSPECIFIED) {
      return complain("kind", "the line has no kind");
    }
    if (line.regex().empty()) return complain("regex", "the regex is missing");
    RE2::Options options;
    options.set_log_errors(false);
    const RE2 regex(line.regex(), options);
    if (!regex.ok()) {
      return complain("regex",
                      absl::StrCat("the regex is refused: ", regex.error()));
    }
    const std::set<std::string>& allowed = GroupsOf(line.kind());
    for (const auto& [name, number] : regex.NamedCapturingGroups()) {
      if (allowed.count(name) > 0) continue;
      complain("regex", absl::StrCat("a line of kind ",
                                     LinePattern::Kind_Name(line.kind()),
                                     " has no group \"", name, "\"; it has ",
                                     absl::StrJoin(allowed, ", ")));
    }
    const bool carried = line.step_from() == LinePattern::LAST_CARRY ||
                         line.step_from() == LinePattern::NEXT_CARRY;
    if (line.step_from() != LinePattern::LINE &&
        line.kind() != LinePattern::STEP) {
      complain("step_from", "only a line of kind STEP has step_from");
    }
    if (carried && !has_carry) {
      complain("step_from", "there is no line of kind CARRY");
    }
    if (line.kind() == LinePattern::STEP &&
        line.step_from() == LinePattern::LINE &&
        regex.NamedCapturingGroups().count("step") == 0) {
      complain(
          "regex",
          "the group \"step\" is missing, and step_from says that it is in "
          "this line");
    }
  }

  void CheckCheckpoints() {
    const v1::Checkpoints& checkpoints = adapter_.checkpoints();
    if (checkpoints.commit_when_closed() && checkpoints.files().empty()) {
      Complain("checkpoints", -1,
               "commit_when_closed needs the glob \"files\"");
    }
    const bool save_line =
        std::any_of(adapter_.lines().begin(), adapter_.lines().end(),
                    [](const LinePattern& line) {
                      return line.kind() == LinePattern::SAVE_BEGUN;
                    });
    if (checkpoints.commit_when_closed() && checkpoints.step().empty() &&
        !save_line) {
      Complain(
          "checkpoints", -1,
          "nothing tells which step a checkpoint belongs to: give \"step\" "
          "(a regex over its path) or a line of kind SAVE_BEGUN");
    }
    if (!adapter_.resume_arguments().empty() && checkpoints.files().empty()) {
      Complain("resume_arguments", 0,
               "without checkpoints.files nothing tells whether there is "
               "something to resume");
    }
    if (checkpoints.step().empty()) return;
    RE2::Options options;
    options.set_log_errors(false);
    const RE2 regex(checkpoints.step(), options);
    if (!regex.ok()) {
      Complain("checkpoints", -1,
               absl::StrCat("the regex \"step\" is refused: ", regex.error()));
    } else if (regex.NamedCapturingGroups().count("step") == 0) {
      Complain("checkpoints", -1, "the regex \"step\" has no group \"step\"");
    }
  }

  const std::string& path_;
  const Adapter& adapter_;
  const TextFormat::ParseInfoTree& places_;
  std::set<std::string> known_;
  absl::Status status_;
};

}  // namespace

std::string FillIn(absl::string_view text, const Placeholders& values) {
  std::string filled;
  for (size_t i = 0; i < text.size();) {
    const size_t close = text[i] == '{' ? text.find('}', i) : text.npos;
    if (close != text.npos) {
      const auto value =
          values.find(std::string(text.substr(i + 1, close - i - 1)));
      if (value != values.end()) {
        filled += value->second;
        i = close + 1;
        continue;
      }
    }
    filled += text[i++];
  }
  return filled;
}

absl::StatusOr<AdapterFile> AdapterFile::Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot be opened: ", strerror(errno)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return Parse(text.str(), path);
}

absl::StatusOr<AdapterFile> AdapterFile::Parse(const std::string& text,
                                               const std::string& path) {
  AdapterFile file;
  file.path_ = path;
  FirstError error(path);
  TextFormat::ParseInfoTree places;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&places);
  if (!parser.ParseFromString(text, &file.adapter_)) {
    return absl::InvalidArgumentError(error.text());
  }
  absl::Status status = Checker(path, file.adapter_, places).Check();
  if (!status.ok()) return status;
  return file;
}

Description AdapterFile::Describe() const {
  Description description;
  description.set_protocol(std::string(kProtocolVersion));
  description.set_name(adapter_.name());
  description.set_version(adapter_.version());
  description.add_workloads("default");
  if (adapter_.moves()) description.add_features("moves");
  description.set_determinism(adapter_.determinism() ==
                                      v1::DETERMINISM_UNSPECIFIED
                                  ? v1::LOOSE
                                  : adapter_.determinism());
  // Groups are named like the fields of StepEvent, but for these.
  std::set<std::string> channels;
  for (const LinePattern& line : adapter_.lines()) {
    if (line.kind() != LinePattern::STEP && line.kind() != LinePattern::CARRY) {
      continue;
    }
    channels.insert("step");
    const RE2 regex(line.regex());
    for (const auto& [name, number] : regex.NamedCapturingGroups()) {
      if (name == "total") continue;
      channels.insert(name == "lr2" ? "lr" : name == "ids" ? "id_list" : name);
    }
  }
  for (const std::string& channel : channels) {
    description.add_channels(channel);
  }
  return description;
}

absl::StatusOr<Placeholders> AdapterFile::PlaceholdersFor(
    const RunRequest& request) const {
  Placeholders values;
  for (const v1::Variable& value : adapter_.values()) {
    values[value.name()] = value.value();
  }
  for (const v1::Setting& setting : request.settings()) {
    if (values.count(setting.name()) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the adapter ", path_, " has no value \"",
                       setting.name(), "\" to set"));
    }
    values[setting.name()] = setting.value();
  }
  const auto number = [&values](const char* name, bool requested,
                                uint64_t request, bool given, uint64_t own) {
    if (requested || given) {
      values[name] = absl::StrCat(requested ? request : own);
    }
  };
  number("steps", request.has_steps(), request.steps(), adapter_.has_steps(),
         adapter_.steps());
  number("save_every", request.has_save_every(), request.save_every(),
         adapter_.has_save_every(), adapter_.save_every());
  number("seed", request.has_seed(), request.seed(), adapter_.has_seed(),
         adapter_.seed());
  values["run_folder"] = request.run_folder();
  values["adapter_folder"] =
      std::filesystem::absolute(path_).parent_path().string();
  // Values may be made of other placeholders.
  for (const v1::Variable& value : adapter_.values()) {
    values[value.name()] = FillIn(values[value.name()], values);
  }
  // What is needed and not there, in any text that may be used.
  std::vector<std::string> texts(adapter_.command().begin(),
                                 adapter_.command().end());
  for (const auto* more :
       {&adapter_.fresh_arguments(), &adapter_.resume_arguments()}) {
    texts.insert(texts.end(), more->begin(), more->end());
  }
  for (const LinePattern& line : adapter_.lines()) {
    texts.push_back(line.regex());
  }
  for (const std::string& text : texts) {
    for (const char* name : {"steps", "save_every", "seed"}) {
      const std::vector<std::string> names = NamesIn(text);
      if (values.count(name) == 0 &&
          std::find(names.begin(), names.end(), name) != names.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": {", name,
                         "} is used, but neither the request nor the "
                         "adapter gives a value; add \"",
                         name, ": ...\" to the adapter"));
      }
    }
  }
  return values;
}

}  // namespace reprise::conformance
