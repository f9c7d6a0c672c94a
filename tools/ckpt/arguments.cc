#include "tools/ckpt/arguments.h"

#include <stdlib.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "format/io/file_system.h"

namespace reprise::ckpt {

absl::StatusOr<Arguments> Arguments::Parse(
    const std::vector<std::string>& words, const std::vector<Flag>& flags) {
  Arguments arguments;
  bool flags_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (flags_ended || word == "-" || !absl::StartsWith(word, "-")) {
      arguments.paths_.push_back(PersonsPath(word));
      continue;
    }
    if (word == "--") {
      flags_ended = true;
      continue;
    }
    const size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    name.erase(0, absl::StartsWith(name, "--") ? 2 : 1);
    auto flag = std::find_if(flags.begin(), flags.end(),
                             [&](const Flag& f) { return name == f.name; });
    if (flag == flags.end()) {
      std::vector<std::string> known;
      for (const Flag& f : flags) known.push_back(absl::StrCat("--", f.name));
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag ", word, "; this verb has ",
                       absl::StrJoin(known, " ")));
    }
    const bool is_switch = flag->value[0] == '\0';
    std::string value;
    if (equals != std::string::npos) {
      if (is_switch) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", name, " takes no value, found ", word));
      }
      value = word.substr(equals + 1);
    } else if (!is_switch) {
      if (i + 1 == words.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--", name, " wants a value: --", name, "=", flag->value));
      }
      value = words[++i];
    }
    if (!arguments.values_.emplace(name, value).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " was given twice"));
    }
  }
  return arguments;
}

bool Arguments::Has(absl::string_view flag) const {
  return values_.find(flag) != values_.end();
}

std::string Arguments::Text(absl::string_view flag) const {
  auto found = values_.find(flag);
  return found == values_.end() ? "" : found->second;
}

std::vector<std::string> Arguments::List(absl::string_view flag) const {
  if (!Has(flag)) return {};
  return absl::StrSplit(Text(flag), ',');
}

absl::StatusOr<std::optional<uint64_t>> Arguments::Count(
    absl::string_view flag) const {
  if (!Has(flag)) return std::optional<uint64_t>();
  const std::string text = Text(flag);
  uint64_t count = 0;
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(),
                                   [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || !absl::SimpleAtoi(text, &count)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, ": expected a count, found \"", text, "\""));
  }
  return std::optional<uint64_t>(count);
}

std::string FlagsHelp(const std::vector<Flag>& flags, int width) {
  std::string text;
  for (const Flag& flag : flags) {
    const std::string name =
        flag.value[0] == '\0' ? absl::StrCat("--", flag.name)
                              : absl::StrCat("--", flag.name, "=", flag.value);
    absl::StrAppendFormat(&text, "  %-*s %s\n", width, name, flag.help);
  }
  return text;
}

std::string PersonsPath(absl::string_view path) {
  const char* folder = getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || absl::StartsWith(path, "/")) {
    return std::string(path);
  }
  return JoinPath(folder, path);
}

}  // namespace reprise::ckpt
