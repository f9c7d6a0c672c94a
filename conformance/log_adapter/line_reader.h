// Cuts what a program writes to a terminal into lines.
//
//   LineReader reader;
//   for (const std::string& line : reader.Add(bytes)) ...
//   for (const std::string& line : reader.Idle()) ...   // a progress bar
//   for (const std::string& line : reader.Finish()) ...
//
// A line ends with \n or \r: progress bars redraw with \r. Colours and other
// escape sequences are taken out, blank lines left out, and lines cut at 64
// KiB. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_LOG_ADAPTER_LINE_READER_H_
#define REPRISE_CONFORMANCE_LOG_ADAPTER_LINE_READER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise::conformance {

class LineReader {
 public:
  std::vector<std::string> Add(absl::string_view bytes);

  // Nothing was written for a moment: what stands behind the last \r is a bar
  // that was drawn to its end, though nothing ended it yet.
  std::vector<std::string> Idle();

  // What is left, as a line.
  std::vector<std::string> Finish();

 private:
  void End(std::vector<std::string>* lines);

  std::string pending_;
  // `pending_` began behind a \r.
  bool redrawn_ = false;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_LOG_ADAPTER_LINE_READER_H_
