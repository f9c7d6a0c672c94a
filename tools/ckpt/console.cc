#include "tools/ckpt/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "format/refusal.h"
#include "google/protobuf/util/json_util.h"

namespace reprise::ckpt {
namespace {

constexpr auto kBetweenUpdates = std::chrono::milliseconds(100);
constexpr int kBarCells = 24;

const char* CodeOf(Paint paint) {
  switch (paint) {
    case Paint::kPlain:
      return "";
    case Paint::kBold:
      return "\x1b[1m";
    case Paint::kDim:
      return "\x1b[2m";
    case Paint::kGood:
      return "\x1b[32m";
    case Paint::kWarning:
      return "\x1b[33m";
    case Paint::kBad:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::string Painted(absl::string_view text, Paint paint, bool colours) {
  if (!colours || paint == Paint::kPlain) return std::string(text);
  return absl::StrCat(CodeOf(paint), text, "\x1b[0m");
}

void Table::Print(std::ostream& out, bool colours) const {
  std::vector<size_t> widths;
  auto widen = [&](size_t column, size_t width) {
    if (widths.size() <= column) widths.resize(column + 1);
    widths[column] = std::max(widths[column], width);
  };
  for (size_t i = 0; i < names_.size(); ++i) widen(i, names_[i].size());
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widen(i, row[i].text.size());
  }
  auto print = [&](const std::vector<Cell>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, Painted(row[i].text, row[i].paint, colours));
      // Nothing trails.
      if (i + 1 < row.size()) {
        line.append(widths[i] - row[i].text.size() + 2, ' ');
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  };
  if (!names_.empty()) {
    std::vector<Cell> head;
    for (const std::string& name : names_) head.push_back({name, Paint::kDim});
    print(head);
  }
  for (const std::vector<Cell>& row : rows_) print(row);
}

std::string HumanBytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB", "TiB"}) {
    value /= 1024;
    if (value < 1024) return absl::StrFormat("%.1f %s", value, unit);
  }
  return absl::StrFormat("%.1f PiB", value / 1024);
}

std::string HumanTime(int64_t unix_nanos) {
  if (unix_nanos == 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                          absl::FromUnixNanos(unix_nanos), absl::UTCTimeZone());
}

std::string Shortened(absl::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  // Not in the middle of a character.
  while (width > 0 && (text[width] & 0xc0) == 0x80) --width;
  return absl::StrCat(text.substr(0, width), "...");
}

std::string ErrorText(const absl::Status& status) {
  const Refusal refusal = RefusalOf(status);
  return absl::StrCat(refusal == Refusal::REFUSAL_UNSPECIFIED
                          ? ""
                          : absl::StrCat(TextOf(refusal), ": "),
                      status.message());
}

void PrintJson(const google::protobuf::Message& message, std::ostream& out) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string json;
  // A message of strings and numbers always has a JSON form.
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  out << json;
  if (json.empty() || json.back() != '\n') out << "\n";
}

namespace {

// A line that wraps could not be written over again.
size_t MostColumns() {
  winsize size = {};
  const bool known =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return (known ? size.ws_col : 80) - 1;
}

}  // namespace

ProgressBar::ProgressBar(std::ostream& out, bool shown, std::string title)
    : out_(out),
      shown_(shown),
      title_(std::move(title)),
      begin_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (width_ > 0)
    out_ << "\r" << std::string(width_, ' ') << "\r" << std::flush;
}

void ProgressBar::Update(uint64_t done, uint64_t total) {
  if (!shown_ || total == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kBetweenUpdates && done < total) return;
  last_ = now;
  const double seconds =
      std::max(1e-3, std::chrono::duration<double>(now - begin_).count());
  const int filled =
      static_cast<int>(static_cast<double>(done) / total * kBarCells);
  std::string line = absl::StrCat(
      title_, " [", std::string(filled, '#'),
      std::string(kBarCells - filled, ' '), "] ", HumanBytes(done), " of ",
      HumanBytes(total), ", ",
      HumanBytes(static_cast<uint64_t>(static_cast<double>(done) / seconds)),
      "/s");
  line.resize(std::min(line.size(), MostColumns()));
  const size_t width = line.size();
  if (width < width_) line.append(width_ - width, ' ');
  width_ = width;
  out_ << "\r" << line << std::flush;
}

}  // namespace reprise::ckpt
