#include "trainer/metrics/wrapped.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace reprise {

std::string Wrapped(absl::string_view head, absl::string_view text,
                    int columns) {
  std::string rows, row(head);
  if (columns <= 0) {
    absl::StrAppend(&row, text);
    return absl::StrCat(absl::StripTrailingAsciiWhitespace(row), "\n");
  }
  const size_t width = columns;
  const std::string indent(std::min(head.size(), width / 2), ' ');
  bool has_word = false;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t blank = has_word;
    if (row.size() + blank + word.size() > width &&
        (has_word || row.size() > indent.size())) {
      absl::StrAppend(&rows, absl::StripTrailingAsciiWhitespace(row), "\n");
      row = indent;
      has_word = false;
    }
    absl::StrAppend(&row, has_word ? " " : "", word);
    has_word = true;
  }
  return absl::StrCat(rows, absl::StripTrailingAsciiWhitespace(row), "\n");
}

}  // namespace reprise
