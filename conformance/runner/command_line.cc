#include "conformance/runner/command_line.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace reprise::conformance {

absl::StatusOr<std::vector<std::string>> SplitCommand(absl::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'') {
      if (i + 1 == line.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the command ends with a backslash: ", line));
      }
      const char next = line[++i];
      if (quote == '"' && next != '"' && next != '\\') word += '\\';
      word += next;
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the command has an open ", std::string(1, quote), ": ", line));
  }
  if (in_word) words.push_back(word);
  return words;
}

std::string JoinCommand(const std::vector<std::string>& words) {
  return absl::StrJoin(
      words, " ", [](std::string* out, const std::string& word) {
        const bool plain =
            !word.empty() &&
            word.find_first_not_of(
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                "UVWXYZ0123456789_-+=./:,@%") == std::string::npos;
        if (plain) {
          absl::StrAppend(out, word);
        } else {
          absl::StrAppend(out, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}),
                          "'");
        }
      });
}

std::vector<std::string> ResolveAgainst(const std::string& folder,
                                        std::vector<std::string> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    std::string& word = words[i];
    // The value of --flag=value, or the word itself.
    size_t begin = 0;
    if (!word.empty() && word[0] == '-') {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      begin = equals + 1;
    }
    const std::string value = word.substr(begin);
    if (value.empty() || value[0] == '/') continue;
    if (i == 0 && !absl::StrContains(value, "/")) continue;
    const std::string path = absl::StrCat(folder, "/", value);
    if (access(path.c_str(), F_OK) == 0) word = word.substr(0, begin) + path;
  }
  return words;
}

std::string PersonsFolder() {
  const char* bazel = getenv("BUILD_WORKING_DIRECTORY");
  if (bazel != nullptr && bazel[0] == '/') return bazel;
  char buffer[PATH_MAX];
  return getcwd(buffer, sizeof(buffer)) != nullptr ? buffer : "/";
}

}  // namespace reprise::conformance
