#include "conformance/fake/testee.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "conformance/fake/hold.h"
#include "conformance/fake/noisy_model.h"
#include "conformance/fake/quiet.h"
#include "conformance/protocol/event_log.h"
#include "format/refusal.h"

namespace reprise::conformance::fake {
namespace {

class FileSink : public EventSink {
 public:
  FileSink(EventWriter* writer, bool quiet) : writer_(writer), quiet_(quiet) {}

  void Write(const Event& event) override {
    Event out = event;
    if (quiet_ && !ReduceToQuiet(&out)) return;
    absl::Status status = writer_->Write(out);
    if (status.ok()) return;
    // A run whose record is cut is no evidence: it ends here.
    std::cerr << "fake: " << status << "\n";
    _exit(ExitCode::EXIT_TRAINING_FAILED);
  }

 private:
  EventWriter* const writer_;
  const bool quiet_;
};

Description Describe(bool noisy, bool quiet) {
  Description description = DescribeFake();
  if (noisy) {
    description.set_name("fake-noisy");
    description.set_determinism(v1::ROUNDING);
  }
  if (quiet) {
    description.set_name(description.name() + "-quiet");
    description.clear_digests();
    description.clear_channels();
    for (const char* channel : {"step", "loss", "lr"}) {
      description.add_channels(channel);
    }
  }
  return description;
}

void OnSignal(int signal) {
  static volatile std::sig_atomic_t seen = 0;
  if (seen) _exit(128 + signal);
  seen = 1;
  FakeTrainer::RequestStop();
}

int Usage() {
  std::cerr << "usage: fake [--noisy] [--quiet] describe --out=FILE\n"
               "       fake [--noisy] [--quiet] run --request=FILE\n";
  return ExitCode::EXIT_USAGE;
}

int Fail(const absl::Status& status) {
  std::cerr << "fake: " << status << "\n";
  return status.code() == absl::StatusCode::kNotFound
             ? ExitCode::EXIT_BAD_REQUEST
             : ExitCodeFor(status);
}

int RunFromFile(const std::string& path, bool noisy, bool quiet,
                const Customise& customise) {
  absl::StatusOr<RunRequest> request = ReadRequest(path);
  if (!request.ok()) return Fail(request.status());
  absl::Status status = CheckRequest(Describe(noisy, quiet), *request);
  if (!status.ok()) return Fail(status);
  auto writer = EventWriter::Open(request->events());
  if (!writer.ok()) return Fail(writer.status());
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    std::signal(signal, OnSignal);
  }
  std::cout << "fake trainer, workload "
            << (request->workload().empty() ? Workloads()[0]
                                            : request->workload())
            << std::endl;
  FileSink sink(writer->get(), quiet);
  std::optional<uint64_t> noise;
  if (noisy) {
    noise = static_cast<uint64_t>(
        std::chrono::steady_clock::now().time_since_epoch().count());
  }
  return RunFake(*request, noise, &sink, customise);
}

}  // namespace

ExitCode RunFake(const RunRequest& request, std::optional<uint64_t> noise,
                 EventSink* sink, const Customise& customise) {
  absl::StatusOr<Bed> bed = BedFor(request);
  if (!bed.ok()) {
    std::cerr << "fake: " << bed.status() << "\n";
    return ExitCodeFor(bed.status());
  }
  auto files =
      FileStore::Open(FileSystem::Real(), request.run_folder(), bed->keep_last);
  if (!files.ok()) {
    std::cerr << "fake: " << files.status() << "\n";
    return ExitCodeFor(files.status());
  }
  FileStore* underneath = files->get();
  std::unique_ptr<Store> store = *std::move(files);
  Parts parts = MakeParts(*bed);
  if (noise.has_value()) {
    parts.model = std::make_unique<NoisyModel>(std::move(parts.model), *noise);
  }
  if (customise) customise({*bed, &parts, &store, underneath});
  parts.observers.push_back(std::make_unique<HoldObserver>(request, sink));
  FakeTrainer trainer(*bed, std::move(parts), store.get(), sink);
  const ExitCode code = trainer.Run(request.resume());
  if (!trainer.error().empty())
    std::cerr << "fake: " << trainer.error() << "\n";
  return code;
}

int TesteeMain(int argc, char** argv, const Customise& customise) {
  bool noisy = false, quiet = false;
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--noisy") {
      noisy = true;
    } else if (argument == "--quiet") {
      quiet = true;
    } else {
      rest.push_back(argument);
    }
  }
  if (rest.size() != 2) return Usage();
  absl::string_view path = rest[1];
  if (rest[0] == "describe" && absl::ConsumePrefix(&path, "--out=")) {
    absl::Status status =
        WriteDescription(std::string(path), Describe(noisy, quiet));
    return status.ok() ? ExitCode::EXIT_DONE : Fail(status);
  }
  if (rest[0] == "run" && absl::ConsumePrefix(&path, "--request=")) {
    return RunFromFile(std::string(path), noisy, quiet, customise);
  }
  return Usage();
}

}  // namespace reprise::conformance::fake
