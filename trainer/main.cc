// The reference trainer.
#include <cstdio>
#include <string>

#include "trainer/flags.h"
#include "trainer/session.h"

int main(int argc, char** argv) {
  const auto line = reprise::ParseCommandLine(argc, argv);
  if (!line.ok()) {
    std::fprintf(stderr, "trainer: usage: %s\n",
                 std::string(line.status().message()).c_str());
    return reprise::ExitCode::EXIT_USAGE;
  }
  return reprise::RunSession(*line, {});
}
