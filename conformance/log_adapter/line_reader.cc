#include "conformance/log_adapter/line_reader.h"

#include "absl/strings/ascii.h"
#include "re2/re2.h"

namespace reprise::conformance {
namespace {

constexpr size_t kMaxLine = size_t{64} << 10;

}  // namespace

std::vector<std::string> LineReader::Add(absl::string_view bytes) {
  std::vector<std::string> lines;
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') {
      End(&lines);
      redrawn_ = c == '\r';
    } else if (pending_.size() < kMaxLine) {
      pending_ += c;
    }
  }
  return lines;
}

std::vector<std::string> LineReader::Idle() {
  std::vector<std::string> lines;
  if (redrawn_) End(&lines);
  return lines;
}

std::vector<std::string> LineReader::Finish() {
  std::vector<std::string> lines;
  End(&lines);
  return lines;
}

void LineReader::End(std::vector<std::string>* lines) {
  static const RE2* const escapes = new RE2(
      "\x1b\\[[0-9;?]*[ "
      "-/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[@-_]");
  RE2::GlobalReplace(&pending_, *escapes, "");
  if (!absl::StripAsciiWhitespace(pending_).empty()) {
    lines->push_back(pending_);
  }
  pending_.clear();
}

}  // namespace reprise::conformance
