#include "tools/ckpt/verb.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/refusal.h"
#include "reprise/tools/ckpt/report.pb.h"
#include "tools/ckpt/console.h"

namespace reprise::ckpt {
namespace {

std::string ListOfVerbs(const std::vector<Verb>& verbs) {
  std::string text =
      "ckpt: looks at checkpoints, checks and changes them.\n\n"
      "usage: ckpt VERB [FLAGS] PATHS     (ckpt VERB --help says more)\n\n";
  for (const Verb& verb : verbs) {
    absl::StrAppendFormat(&text, "  %-8s %s\n", verb.name, verb.summary);
  }
  absl::StrAppend(&text,
                  "\nExit codes: 0 done, 1 usage, 2 bad request (nothing of "
                  "that name, or held by\nanother program), 10 unsupported, "
                  "11 checkpoint rejected, 14 not written.\n");
  return text;
}

std::string HelpOf(const Verb& verb) {
  const std::string text = absl::StrCat("usage: ckpt ", verb.name, " [FLAGS] ",
                                        verb.paths, "\n\n", verb.help, "\n");
  return text + FlagsHelp(verb.flags, 28);
}

bool AsksForHelp(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

// Marks a status of NotWritten.
constexpr char kNotWritten[] = "reprise/ckpt.not_written";

ExitCode CodeOf(const absl::Status& status) {
  return status.GetPayload(kNotWritten).has_value() ? ExitCode::EXIT_SAVE_FAILED
                                                    : ExitCodeFor(status);
}

}  // namespace

absl::Status NotWritten(absl::Status status) {
  if (RefusalOf(status) == Refusal::IO) {
    status.SetPayload(kNotWritten, absl::Cord());
  }
  return status;
}

ExitCode RunCkpt(const std::vector<std::string>& words,
                 const std::vector<Verb>& verbs, Streams streams) {
  if (words.empty() || AsksForHelp(words[0])) {
    (words.empty() ? streams.err : streams.out) << ListOfVerbs(verbs);
    return words.empty() ? ExitCode::EXIT_USAGE : ExitCode::EXIT_DONE;
  }
  auto verb = std::find_if(verbs.begin(), verbs.end(),
                           [&](const Verb& v) { return words[0] == v.name; });
  if (verb == verbs.end()) {
    streams.err << "ckpt: there is no verb \"" << words[0] << "\"\n\n"
                << ListOfVerbs(verbs);
    return ExitCode::EXIT_USAGE;
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (std::any_of(rest.begin(), rest.end(), [](const std::string& word) {
        return word == "--help" || word == "-h";
      })) {
    streams.out << HelpOf(*verb);
    return ExitCode::EXIT_DONE;
  }
  const auto arguments = Arguments::Parse(rest, verb->flags);
  if (!arguments.ok()) {
    streams.err << "ckpt " << verb->name << ": " << arguments.status().message()
                << "\n";
    return ExitCode::EXIT_USAGE;
  }
  const absl::Status status = verb->run(*arguments, streams);
  if (status.ok()) return ExitCode::EXIT_DONE;
  const Refusal refusal = RefusalOf(status);
  const ExitCode code = CodeOf(status);
  if (arguments->Has("json")) {
    ErrorReport report;
    if (refusal != Refusal::REFUSAL_UNSPECIFIED) {
      report.set_refusal(TextOf(refusal));
    }
    report.set_message(std::string(status.message()));
    report.set_exit_code(code);
    PrintJson(report, streams.out);
  }
  streams.err << "ckpt " << verb->name << ": " << ErrorText(status) << "\n";
  return code;
}

}  // namespace reprise::ckpt
