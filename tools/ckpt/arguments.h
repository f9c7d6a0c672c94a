// The command line of one verb: flags and paths, in any order.
//
// Example (a test as well):
//
//   const std::vector<Flag> flags = {
//       {"out", "FOLDER", "where the checkpoint goes"}, {"json", "", "..."}};
//   auto arguments = Arguments::Parse({"a.pt", "--out=run", "--json"}, flags);
//   if (!arguments.ok()) return arguments.status();
//   arguments->paths();        // {"a.pt"}
//   arguments->Text("out");    // "run"
//   arguments->Has("json");    // true
//
// Thread-compatible.
#ifndef REPRISE_TOOLS_CKPT_ARGUMENTS_H_
#define REPRISE_TOOLS_CKPT_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::ckpt {

struct Flag {
  const char* name;   // without dashes
  const char* value;  // what it stands for in the help; "" for a switch
  const char* help;
};

class Arguments {
 public:
  // Accepts --name=value and --name value; "--" ends the flags. Errors:
  // INVALID_ARGUMENT for an unknown flag (naming the known ones), a value that
  // is missing or too many, and a flag that comes twice.
  static absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words,
                                         const std::vector<Flag>& flags);

  // Relative ones as the person meant them (PersonsPath).
  const std::vector<std::string>& paths() const { return paths_; }
  bool Has(absl::string_view flag) const;
  // The value; empty when the flag was not given.
  std::string Text(absl::string_view flag) const;
  // The value split at commas; empty when the flag was not given.
  std::vector<std::string> List(absl::string_view flag) const;
  // The value as a count; nullopt when the flag was not given.
  // INVALID_ARGUMENT for anything but digits.
  absl::StatusOr<std::optional<uint64_t>> Count(absl::string_view flag) const;

 private:
  std::vector<std::string> paths_;
  std::map<std::string, std::string, std::less<>> values_;
};

// A line of help for each flag, its name in `width` columns.
std::string FlagsHelp(const std::vector<Flag>& flags, int width);

// `path`, resolved against BUILD_WORKING_DIRECTORY, which `bazel run` sets to
// where the person stood.
std::string PersonsPath(absl::string_view path);

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_ARGUMENTS_H_
