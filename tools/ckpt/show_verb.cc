#include "tools/ckpt/show_verb.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/accepted_missing.h"
#include "format/field_values.h"
#include "format/inventory.h"
#include "format/refusal.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/inspect.h"
#include "tools/ckpt/tensor_statistics.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Shows a checkpoint, or the newest of a run folder: what it is, then every item of
the inventory with its presence and its values (or why there are none), and what
its tensors are. The manifest is verified; tensors are only read with --tensor.

--tensor=NAME reads and verifies one tensor and prints numbers about it and its
first elements. A parameter or buffer is named by its name; a moment
fc.weight/exp_avg; anything by its item first: ema.weights:fc.weight.
)";

constexpr size_t kValueWidth = 100;
constexpr size_t kMostLines = 16;  // of one item
constexpr uint64_t kDefaultValues = 8;

// "ema.weights:fc.weight/exp_avg".
std::string FullName(const TensorLine& line) {
  return absl::StrCat(line.item(), ":", line.name(),
                      line.part().empty() ? "" : "/", line.part());
}

std::string ShortName(const TensorLine& line) {
  return absl::StrCat(line.name(), line.part().empty() ? "" : "/", line.part());
}

absl::StatusOr<TensorLine> FindTensor(const Inspected& inspected,
                                      const std::string& name) {
  const std::vector<TensorLine> lines = TensorsOf(inspected);
  // By the order of items: parameters before what belongs to them.
  for (const TensorLine& line : lines) {
    if (name == ShortName(line) || name == FullName(line)) return line;
  }
  std::vector<std::string> similar;
  for (const TensorLine& line : lines) {
    if (similar.size() < 5 && absl::StrContains(FullName(line), name)) {
      similar.push_back(FullName(line));
    }
  }
  return MakeRefusal(
      Refusal::ABSENT,
      absl::StrCat(
          inspected.path, ": there is no tensor \"", name, "\" in it",
          similar.empty()
              ? "; --tensors lists them"
              : absl::StrCat("; similar: ", absl::StrJoin(similar, " "))));
}

std::string ShapeText(const TensorLine& line) {
  std::string text =
      absl::StrCat(line.dtype(), " [", absl::StrJoin(line.shape(), ", "), "]");
  if (line.order_size() > 0) {
    absl::StrAppend(&text, " in order [", absl::StrJoin(line.order(), ", "),
                    "]");
  }
  return text;
}

void AddItems(const Inspected& inspected, ShowReport* report) {
  std::map<Item, ItemValues> items;
  for (const ItemRecord& record : inspected.snapshot.inventory) {
    ItemValues& item = items[record.item];
    item.set_item(TextOf(record.item));
    item.set_presence(TextOf(record.presence));
    item.set_reason(record.reason);
  }
  for (const FieldValue& value : FieldsOf(inspected.snapshot)) {
    auto item = items.find(value.item);
    if (item == items.end()) continue;
    FieldLine* field = item->second.add_values();
    field->set_path(value.path);
    field->set_text(value.text);
  }
  for (const TensorLine& line : TensorsOf(inspected)) {
    const auto item = ParseText<Item>(line.item());
    if (!item.has_value() || items.count(*item) == 0) continue;
    ItemValues& values = items[*item];
    values.set_tensors(values.tensors() + 1);
    if (line.tied_to().empty()) {
      values.set_tensor_bytes(values.tensor_bytes() + line.bytes());
    }
  }
  for (auto& [number, item] : items) *report->add_items() = std::move(item);
}

void AddHistory(const Snapshot& snapshot, ShowReport* report) {
  for (const MigrationRecord& record : snapshot.history) {
    if (IsAcceptedMissing(record)) continue;
    std::string text =
        absl::StrCat("version ", record.from_major, " to ", record.to_major,
                     " by ", record.program, ", from manifest ",
                     absl::BytesToHexString(record.source_manifest_digest));
    for (const std::string& note : record.notes) {
      absl::StrAppend(&text, "; ", note);
    }
    report->add_history(text);
  }
  for (Item item : snapshot.accepted_missing) {
    report->add_accepted_missing(TextOf(item));
  }
  for (const AcceptedMissing& once : AcceptedMissingIn(snapshot.history)) {
    BegunAnew* begun = report->add_begun_anew();
    begun->set_step(once.step);
    begun->set_manifest_digest(absl::BytesToHexString(once.manifest_digest));
    for (const std::string& item : once.items) begun->add_items(item);
  }
}

Paint PaintOf(const std::string& presence) {
  if (presence == "SAVED") return Paint::kGood;
  return presence == "OMITTED" ? Paint::kWarning : Paint::kDim;
}

void PrintHead(const Inspected& inspected, const ShowReport& report,
               Streams streams) {
  const bool colours = streams.out_is_terminal;
  const CheckpointLine& line = report.line();
  streams.out << Painted(report.checkpoint(), Paint::kBold, colours) << "\n";
  Table table({});
  auto add = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) table.Add({{"  " + name, Paint::kDim}, {text}});
  };
  const Snapshot& snapshot = inspected.snapshot;
  add("step", absl::StrCat(snapshot.step,
                           snapshot.micro_step() > 0
                               ? absl::StrCat(" and ", snapshot.micro_step(),
                                              " micro-steps")
                               : ""));
  add("format", absl::StrCat(line.major(), ".", line.minor(), ", ",
                             HumanBytes(line.bytes())));
  add("run", absl::StrCat(snapshot.run_id, ", attempt ", snapshot.attempt,
                          snapshot.parent.has_value()
                              ? absl::StrCat(", went on from step ",
                                             snapshot.parent->step)
                              : ""));
  add("written",
      absl::StrCat(HumanTime(snapshot.created_unix_nanos),
                   snapshot.host.empty() ? "" : " on ", snapshot.host,
                   snapshot.writer.empty() ? "" : " by ", snapshot.writer));
  add("value digest", line.value_digest());
  add("manifest", line.manifest_digest());
  add("can resume",
      report.level().empty() ? "at no level (ckpt missing)" : report.level());
  for (const std::string& entry : report.history()) add("migrated", entry);
  for (const BegunAnew& begun : report.begun_anew()) {
    add("begun anew", absl::StrCat("at step ", begun.step(), ": ",
                                   absl::StrJoin(begun.items(), " ")));
  }
  // A program that keeps no such history says it of its own attempt only.
  if (report.begun_anew().empty() && report.accepted_missing_size() > 0) {
    add("begun anew", absl::StrJoin(report.accepted_missing(), " "));
  }
  table.Print(streams.out, colours);
}

// The name of an element of a list, which its path says already.
bool IsItsOwnName(const FieldLine& field) {
  for (const char* key : {"name", "path", "generator"}) {
    if (absl::EndsWith(field.path(),
                       absl::StrCat("[", field.text(), "].", key))) {
      return true;
    }
  }
  return false;
}

void PrintItems(const ShowReport& report, bool all, Streams streams) {
  const bool colours = streams.out_is_terminal;
  streams.out << "\n";
  Table table({});
  for (const ItemValues& item : report.items()) {
    std::vector<std::string> lines;
    if (!item.reason().empty()) lines.push_back(item.reason());
    if (item.tensors() > 0) {
      lines.push_back(absl::StrCat(
          item.tensors(), item.tensors() == 1 ? " tensor, " : " tensors, ",
          HumanBytes(item.tensor_bytes())));
    }
    for (const FieldLine& field : item.values()) {
      if (IsItsOwnName(field)) continue;
      lines.push_back(absl::StrCat(field.path(), " = ",
                                   Shortened(field.text(), kValueWidth)));
    }
    if (!all && lines.size() > kMostLines && item.item() != "config") {
      const size_t more = lines.size() - kMostLines;
      lines.resize(kMostLines);
      lines.push_back(absl::StrCat("and ", more, " more (--all)"));
    }
    if (lines.empty()) lines.push_back("");
    for (size_t i = 0; i < lines.size(); ++i) {
      table.Add({{i == 0 ? item.item() : "", Paint::kBold},
                 {i == 0 ? item.presence() : "", PaintOf(item.presence())},
                 {lines[i]}});
    }
  }
  table.Print(streams.out, colours);
}

void PrintTensors(const ShowReport& report, Streams streams) {
  if (report.tensors().empty()) return;
  streams.out << "\n";
  Table table({"TENSOR", "TYPE AND SHAPE", "SIZE", ""});
  for (const TensorLine& line : report.tensors()) {
    table.Add(
        {{FullName(line)},
         {ShapeText(line)},
         {HumanBytes(line.bytes())},
         {line.tied_to().empty() ? ""
                                 : absl::StrCat("tied to ", line.tied_to()),
          Paint::kDim}});
  }
  table.Print(streams.out, streams.out_is_terminal);
}

void PrintStatistics(const TensorStatistics& statistics, Streams streams) {
  const bool colours = streams.out_is_terminal;
  const TensorLine& line = statistics.tensor();
  streams.out << Painted(FullName(line), Paint::kBold, colours) << "  "
              << ShapeText(line) << "  " << HumanBytes(line.bytes()) << "\n";
  Table table({});
  auto add = [&](const std::string& name, const std::string& text,
                 Paint paint = Paint::kPlain) {
    table.Add({{"  " + name, Paint::kDim}, {text, paint}});
  };
  add("elements", absl::StrCat(statistics.elements()));
  if (statistics.has_minimum()) {
    add("range", absl::StrFormat("%.9g to %.9g", statistics.minimum(),
                                 statistics.maximum()));
    add("mean",
        absl::StrFormat("%.9g, standard deviation %.9g", statistics.mean(),
                        statistics.standard_deviation()));
    add("zeros", absl::StrCat(statistics.zero()));
  }
  if (statistics.nan() + statistics.infinite() > 0) {
    add("not finite",
        absl::StrCat(statistics.nan(), " NaN, ", statistics.infinite(),
                     " infinite"),
        Paint::kBad);
  }
  if (statistics.values_size() > 0) {
    add("first",
        absl::StrCat(
            absl::StrJoin(statistics.values(), " "),
            statistics.values_size() < statistics.elements() ? " ..." : ""));
  }
  table.Print(streams.out, colours);
}

absl::Status ShowTensor(const Inspected& inspected, const std::string& name,
                        uint64_t values, ShowReport* report) {
  absl::StatusOr<TensorLine> line = FindTensor(inspected, name);
  if (!line.ok()) return line.status();
  absl::StatusOr<Tensor> tensor = ReadOne(inspected, *line);
  if (!tensor.ok()) return tensor.status();
  *report->mutable_statistics() = StatisticsOf(*tensor, values);
  *report->mutable_statistics()->mutable_tensor() = *line;
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 1) {
    return absl::InvalidArgumentError(
        "expected one checkpoint or run folder; ckpt show --help says more");
  }
  absl::StatusOr<std::optional<uint64_t>> values = arguments.Count("values");
  if (!values.ok()) return values.status();
  std::vector<std::string> passed_over;
  absl::StatusOr<Inspected> inspected =
      InspectMeant(arguments.paths()[0], &passed_over);
  for (const std::string& line : passed_over) streams.err << line << "\n";
  if (!inspected.ok()) return inspected.status();

  ShowReport report;
  report.set_checkpoint(inspected->path);
  *report.mutable_line() = LineOf(inspected->listed);
  if (arguments.Has("tensor")) {
    absl::Status status = ShowTensor(*inspected, arguments.Text("tensor"),
                                     values->value_or(kDefaultValues), &report);
    if (!status.ok()) return status;
  } else {
    const ResumeLevel level = HighestLevel(inspected->snapshot);
    if (level != vocab::RESUME_LEVEL_UNSPECIFIED) {
      report.set_level(TextOf(level));
    }
    report.set_writer(inspected->snapshot.writer);
    AddItems(*inspected, &report);
    AddHistory(inspected->snapshot, &report);
    if (arguments.Has("tensors")) {
      for (TensorLine& line : TensorsOf(*inspected)) {
        *report.add_tensors() = std::move(line);
      }
    }
  }
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
  } else if (report.has_statistics()) {
    PrintStatistics(report.statistics(), streams);
  } else {
    PrintHead(*inspected, report, streams);
    PrintItems(report, arguments.Has("all"), streams);
    PrintTensors(report, streams);
  }
  return absl::OkStatus();
}

}  // namespace

Verb ShowVerb() {
  return {"show",
          "RUN_OR_CHECKPOINT",
          "shows what is in a checkpoint, or one of its tensors",
          kHelp,
          {{"all", "", "print every value of every item"},
           {"tensors", "", "list every tensor"},
           {"tensor", "NAME", "read one tensor and describe it"},
           {"values", "N", "with --tensor: elements to print (8)"},
           {"json", "", "print it as JSON (ShowReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
