// The program ckpt_migrate, but for main().
#ifndef REPRISE_TOOLS_CKPT_MIGRATE_MIGRATE_COMMAND_H_
#define REPRISE_TOOLS_CKPT_MIGRATE_MIGRATE_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "format/vocabulary.h"

namespace reprise::ckpt_migrate {

// Runs the command line `words` (without the program's name). The report goes
// to `out`; errors, and progress where `show_progress` asks for it, to `err`.
// Exit codes: DONE; USAGE; BAD_REQUEST (nothing there, held by another program,
// rules that do not fit, --out in use); CHECKPOINT_REJECTED; SAVE_FAILED.
ExitCode RunCkptMigrate(const std::vector<std::string>& words,
                        std::ostream& out, std::ostream& err,
                        bool show_progress);

}  // namespace reprise::ckpt_migrate

#endif  // REPRISE_TOOLS_CKPT_MIGRATE_MIGRATE_COMMAND_H_
