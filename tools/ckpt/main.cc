// ckpt: one program for looking at checkpoints, checking and changing them.
//
//   bazel run //tools:ckpt -- VERB [FLAGS] PATHS
#include <iostream>
#include <string>
#include <vector>

#include "tools/ckpt/export_verb.h"
#include "tools/ckpt/import_verb.h"
#include "tools/ckpt/verb.h"

int main(int argc, char** argv) {
  using namespace reprise::ckpt;  // NOLINT: one short main
  return RunCkpt(std::vector<std::string>(argv + 1, argv + argc),
                 {ExportVerb(), ImportVerb()}, {std::cout, std::cerr});
}
