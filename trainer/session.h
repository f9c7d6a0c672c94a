// A whole run of the trainer in this process: what main() does once the command
// line is known, for programs that want to watch it (an adapter, a test).
#ifndef REPRISE_TRAINER_SESSION_H_
#define REPRISE_TRAINER_SESSION_H_

#include "format/io/file_system.h"
#include "format/vocabulary.h"
#include "trainer/flags.h"
#include "trainer/train_observer.h"

namespace reprise {

// Both must outlive the session.
struct SessionHooks {
  TrainObserver* observer = nullptr;  // null: nobody watches
  FileSystem* file_system = FileSystem::Real();
};

// Chooses or starts the run, trains it, says how it ended on standard output
// (errors on standard error). Installs signal handlers: once a process.
ExitCode RunSession(const CommandLine& line, const SessionHooks& hooks);

}  // namespace reprise

#endif  // REPRISE_TRAINER_SESSION_H_
