// ckpt_migrate: checkpoints of an older version, or with other names, into a
// new place.
//
//   bazel run //tools:ckpt_migrate -- RUN_OR_CHECKPOINT [FLAGS]
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/ckpt_migrate/migrate_command.h"

int main(int argc, char** argv) {
  return reprise::ckpt_migrate::RunCkptMigrate(
      std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr,
      isatty(STDERR_FILENO) != 0);
}
