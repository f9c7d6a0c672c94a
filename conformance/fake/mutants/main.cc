// The fake trainer with a fault, as a testee:
//
//   mutant_fake --mutant=M21 [--noisy] [--quiet] describe --out=F
//   mutant_fake --mutant=M03,M21 run --request=F     (both faults)
//   mutant_fake --list                               (the table, JSON Lines)
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "conformance/fake/mutants/list.h"
#include "conformance/fake/mutants/mutant.h"
#include "conformance/fake/testee.h"

namespace reprise::conformance::fake {
namespace {

int Main(int argc, char** argv) {
  std::vector<char*> rest;
  std::vector<const Mutant*> mutants;
  static char noisy[] = "--noisy";
  for (int i = 0; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--list") {
      std::cout << MutantsAsJsonLines();
      return ExitCode::EXIT_DONE;
    }
    if (!absl::ConsumePrefix(&argument, "--mutant=")) {
      rest.push_back(argv[i]);
      continue;
    }
    auto found = FindMutants(argument);
    if (!found.ok()) {
      std::cerr << "mutant_fake: " << found.status().message() << "\n";
      return ExitCode::EXIT_USAGE;
    }
    mutants.insert(mutants.end(), found->begin(), found->end());
  }
  for (const Mutant* mutant : mutants) {
    if (mutant->noisy) rest.push_back(noisy);
  }
  return TesteeMain(static_cast<int>(rest.size()), rest.data(),
                    [&](const Assembly& assembly) {
                      for (const Mutant* mutant : mutants) {
                        mutant->install(assembly);
                      }
                    });
}

}  // namespace
}  // namespace reprise::conformance::fake

int main(int argc, char** argv) {
  return reprise::conformance::fake::Main(argc, argv);
}
