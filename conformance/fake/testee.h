// The command line of the fake trainer and of everything built from it:
//
//   fake [--noisy] [--quiet] describe --out=F
//   fake [--noisy] [--quiet] run --request=F
//
// --noisy  adds rounding-level noise, seeded by time, to every gradient:
//          determinism ROUNDING
// --quiet  gives only step, loss and learning rate, and no digests
//
//   int main(int argc, char** argv) {
//     return reprise::conformance::fake::TesteeMain(argc, argv, {});
//   }
#ifndef REPRISE_CONFORMANCE_FAKE_TESTEE_H_
#define REPRISE_CONFORMANCE_FAKE_TESTEE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "conformance/fake/bed.h"
#include "conformance/fake/parts.h"
#include "conformance/fake/store.h"
#include "conformance/fake/trainer.h"

namespace reprise::conformance::fake {

// A trainer about to be built, for a Customise to wrap.
struct Assembly {
  const Bed& bed;
  Parts* parts;
  std::unique_ptr<Store>* store;
  // The store underneath, however it is wrapped.
  FileStore* files;
};

using Customise = std::function<void(const Assembly&)>;

// Runs the trainer that `request` asks for, in this process, to its end. With
// `noise` it adds rounding-level noise, which that number decides. Signals are
// not handled here. Errors go to a NoteEvent and to stderr.
ExitCode RunFake(const RunRequest& request, std::optional<uint64_t> noise,
                 EventSink* sink, const Customise& customise);

// main() of a testee; handles SIGTERM, SIGINT, SIGHUP and SIGUSR1 (save, exit
// 13; the second one ends the process at once). `customise` may be empty.
int TesteeMain(int argc, char** argv, const Customise& customise);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_TESTEE_H_
