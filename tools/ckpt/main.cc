// ckpt: one program for looking at checkpoints, checking and changing them.
//
//   bazel run //tools:ckpt -- VERB [FLAGS] PATHS
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/ckpt/diff_verb.h"
#include "tools/ckpt/export_verb.h"
#include "tools/ckpt/import_verb.h"
#include "tools/ckpt/ls_verb.h"
#include "tools/ckpt/missing_verb.h"
#include "tools/ckpt/prune_verb.h"
#include "tools/ckpt/repair_verb.h"
#include "tools/ckpt/show_verb.h"
#include "tools/ckpt/verb.h"
#include "tools/ckpt/verify_verb.h"

namespace {

// NO_COLOR and TERM=dumb are how people say that they want none.
bool IsTerminal(int descriptor) {
  const char* term = getenv("TERM");
  return isatty(descriptor) == 1 && getenv("NO_COLOR") == nullptr &&
         (term == nullptr || std::string(term) != "dumb");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace reprise::ckpt;  // NOLINT: one short main
  return RunCkpt(std::vector<std::string>(argv + 1, argv + argc),
                 {LsVerb(), ShowVerb(), VerifyVerb(), DiffVerb(), MissingVerb(),
                  PruneVerb(), RepairVerb(), ExportVerb(), ImportVerb()},
                 {std::cout, std::cerr, IsTerminal(STDOUT_FILENO),
                  IsTerminal(STDERR_FILENO)});
}
