// What the verbs of ckpt print for people: tables, sizes, times, colours on a
// terminal, a progress bar.
//
//   Table table({"STEP", "SIZE"});
//   table.Add({{"60"}, {HumanBytes(4096), Paint::kDim}});
//   table.Print(streams.out, streams.out_is_terminal);
//
// Thread-compatible but for ProgressBar, which is thread-safe.
#ifndef REPRISE_TOOLS_CKPT_CONSOLE_H_
#define REPRISE_TOOLS_CKPT_CONSOLE_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace reprise::ckpt {

enum class Paint { kPlain, kBold, kDim, kGood, kWarning, kBad };

// `text` in that colour; as it is when `colours` is false.
std::string Painted(absl::string_view text, Paint paint, bool colours);

struct Cell {
  std::string text;
  Paint paint = Paint::kPlain;
};

// Columns as wide as their widest cell, two spaces between.
class Table {
 public:
  // Without names there is no first line.
  explicit Table(std::vector<std::string> names) : names_(std::move(names)) {}

  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  void Print(std::ostream& out, bool colours) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<Cell>> rows_;
};

// "3.2 MiB"; exact below 1,024.
std::string HumanBytes(uint64_t bytes);
// "2026-11-30 20:11:02 UTC" of nanoseconds since 1970; "-" for 0.
std::string HumanTime(int64_t unix_nanos);
// The first `width` bytes of `text`, and "..." when there are more.
std::string Shortened(absl::string_view text, size_t width);

// "REFUSAL: message", or the message alone where there is no refusal.
std::string ErrorText(const absl::Status& status);

// What is printed with --json: one message and a line end.
void PrintJson(const google::protobuf::Message& message, std::ostream& out);

// One line that is written again and again while work goes on, and goes when
// the bar does. Does nothing when `shown` is false.
class ProgressBar {
 public:
  ProgressBar(std::ostream& out, bool shown, std::string title);
  ~ProgressBar();

  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` of `total` bytes; from any thread.
  void Update(uint64_t done, uint64_t total);

 private:
  std::ostream& out_;
  const bool shown_;
  const std::string title_;
  const std::chrono::steady_clock::time_point begin_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_;
  size_t width_ = 0;  // of what stands there
};

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_CONSOLE_H_
