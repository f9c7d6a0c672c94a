#include "conformance/fake/mutants/list.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "conformance/fake/mutants/mutant.h"

namespace reprise::conformance::fake {

// The table's texts hold no character that JSON escapes; a test parses it.
std::string MutantsAsJsonLines() {
  std::string lines;
  for (const Mutant& mutant : Mutants()) {
    std::string settings;
    if (!mutant.settings.empty()) {
      settings =
          absl::StrCat("\"", absl::StrJoin(mutant.settings, "\", \""), "\"");
    }
    absl::StrAppend(
        &lines, "{\"id\": \"", mutant.id, "\", \"fault\": \"", mutant.fault,
        "\", \"expected\": \"", mutant.expected, "\", \"workload\": \"",
        mutant.workload, "\", \"shows\": \"", Name(mutant.shows),
        "\", \"settings\": [", settings, "], \"inject_overflow\": [",
        absl::StrJoin(mutant.inject_overflow, ", "), "], \"kill_steps\": [",
        absl::StrJoin(mutant.kill_steps, ", "), "], \"signature\": \"",
        mutant.signature, "\", \"noisy\": ", mutant.noisy ? "true" : "false",
        "}\n");
  }
  return lines;
}

}  // namespace reprise::conformance::fake
