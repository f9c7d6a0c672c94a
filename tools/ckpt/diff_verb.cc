#include "tools/ckpt/diff_verb.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/diff.h"
#include "format/refusal.h"
#include "reprise/tools/ckpt/report.pb.h"
#include "tools/ckpt/console.h"
#include "tools/ckpt/locate.h"

namespace reprise::ckpt {
namespace {

constexpr char kHelp[] =
    R"(Compares two checkpoints (or the newest ones of run folders), of any version: the
items of the inventory first, then every tensor by name, with the number of
elements that differ, the first of them and the largest distance in ulp. Identity,
clock, host and history do not count. The best answer is "the same training
state". Both are read and verified whole; memory: both of them.

The exit code says whether the comparison could be made (0), not what it found:
"same" of --json says that.
)";

constexpr size_t kValueWidth = 60;
constexpr uint64_t kDefaultMost = 40;

std::string NameOf(const TensorDiff& diff) {
  return absl::StrCat(diff.name, diff.part.empty() ? "" : "/", diff.part);
}

// Describe without the name, which stands in a column of its own.
std::string TextWithoutName(const TensorDiff& diff) {
  const std::string text = Describe(diff);
  const std::string head =
      absl::StrCat(TextOf(diff.item), " ", NameOf(diff), ": ");
  return text.substr(text.compare(0, head.size(), head) == 0 ? head.size() : 0);
}

DiffReport ReportOf(const LoadedCheckpoint& a, const LoadedCheckpoint& b,
                    const SnapshotDiff& diff) {
  DiffReport report;
  report.set_a(a.path);
  report.set_b(b.path);
  report.set_same(diff.empty());
  for (Item item : diff.items()) report.add_items(TextOf(item));
  for (const FieldDiff& field : diff.fields) {
    FieldDifference* out = report.add_fields();
    out->set_item(TextOf(field.item));
    out->set_path(field.path);
    out->set_a(field.a);
    out->set_b(field.b);
  }
  for (const TensorDiff& tensor : diff.tensors) {
    TensorDifference* out = report.add_tensors();
    out->set_item(TextOf(tensor.item));
    out->set_name(tensor.name);
    out->set_part(tensor.part);
    out->set_text(TextWithoutName(tensor));
    out->set_elements(tensor.elements);
    out->set_differing(tensor.differing);
    if (tensor.max_ulp.has_value()) out->set_max_ulp(*tensor.max_ulp);
    for (uint64_t index : tensor.first_index) out->add_first_index(index);
  }
  return report;
}

void PrintForPeople(const DiffReport& report, uint64_t most, Streams streams) {
  const bool colours = streams.out_is_terminal;
  streams.out << "a  " << report.a() << "\nb  " << report.b() << "\n\n";
  if (report.same()) {
    streams.out << Painted("The same training state.", Paint::kGood, colours)
                << "\n";
    return;
  }
  streams.out << report.items_size()
              << (report.items_size() == 1 ? " item differs: "
                                           : " items differ: ")
              << absl::StrJoin(report.items(), " ") << "\n";
  Table fields({"ITEM", "FIELD", "A", "B"});
  uint64_t shown = 0;
  for (const FieldDifference& field : report.fields()) {
    if (shown++ >= most) break;
    fields.Add({{field.item(), Paint::kBold},
                {field.path()},
                {Shortened(field.a(), kValueWidth)},
                {Shortened(field.b(), kValueWidth)}});
  }
  if (!fields.empty()) {
    streams.out << "\n";
    fields.Print(streams.out, colours);
  }
  Table tensors({"ITEM", "TENSOR", "DIFFERENCE"});
  shown = 0;
  for (const TensorDifference& tensor : report.tensors()) {
    if (shown++ >= most) break;
    tensors.Add({{tensor.item(), Paint::kBold},
                 {absl::StrCat(tensor.name(), tensor.part().empty() ? "" : "/",
                               tensor.part())},
                 {tensor.text()}});
  }
  if (!tensors.empty()) {
    streams.out << "\n";
    tensors.Print(streams.out, colours);
  }
  const uint64_t fields_left =
      report.fields_size() > most ? report.fields_size() - most : 0;
  const uint64_t tensors_left =
      report.tensors_size() > most ? report.tensors_size() - most : 0;
  if (fields_left + tensors_left > 0) {
    streams.out << "\nand " << fields_left << " more fields, " << tensors_left
                << " more tensors (--most=N)\n";
  }
}

absl::Status Run(const Arguments& arguments, Streams streams) {
  if (arguments.paths().size() != 2) {
    return absl::InvalidArgumentError(
        "expected two checkpoints or run folders; ckpt diff --help says more");
  }
  absl::StatusOr<std::optional<uint64_t>> most = arguments.Count("most");
  if (!most.ok()) return most.status();
  std::vector<std::string> passed_over;
  absl::StatusOr<LoadedCheckpoint> a =
      ReadMeant(arguments.paths()[0], &passed_over);
  absl::StatusOr<LoadedCheckpoint> b = a;
  if (a.ok()) b = ReadMeant(arguments.paths()[1], &passed_over);
  for (const std::string& line : passed_over) streams.err << line << "\n";
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  const DiffReport report = ReportOf(*a, *b, Diff(a->snapshot, b->snapshot));
  if (arguments.Has("json")) {
    PrintJson(report, streams.out);
  } else {
    PrintForPeople(report, most->value_or(kDefaultMost), streams);
  }
  return absl::OkStatus();
}

}  // namespace

Verb DiffVerb() {
  return {"diff",
          "A B",
          "compares two checkpoints, items first, then tensors",
          kHelp,
          {{"most", "N", "fields, and tensors, to print (40)"},
           {"json", "", "print everything as JSON (DiffReport)"}},
          &Run};
}

}  // namespace reprise::ckpt
