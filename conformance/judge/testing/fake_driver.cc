#include "conformance/judge/testing/fake_driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/fake/quiet.h"
#include "conformance/protocol/event_log.h"
#include "format/random/mix.h"
#include "gtest/gtest.h"

namespace reprise::conformance::testing {
namespace {

class KillingSink : public fake::EventSink {
 public:
  KillingSink(EventWriter* writer, KillAt kill, bool quiet)
      : writer_(writer), kill_(std::move(kill)), quiet_(quiet) {}

  void Write(const Event& event) override {
    Event out = event;
    if (!quiet_ || fake::ReduceToQuiet(&out)) {
      if (!writer_->Write(out).ok()) _exit(99);
    }
    if (kill_.event && kill_.event(event)) kill(getpid(), SIGKILL);
  }

 private:
  EventWriter* const writer_;
  const KillAt kill_;
  const bool quiet_;
};

class KillingObserver : public fake::Observer {
 public:
  explicit KillingObserver(KillAt at) : at_(std::move(at)) {}
  void At(const fake::Place& place, fake::State*) override {
    if (at_.step != 0 && place.point == v1::P2 && place.step == at_.step &&
        place.micro == at_.micro) {
      kill(getpid(), SIGKILL);
    }
  }

 private:
  const KillAt at_;
};

}  // namespace

KillAt KillInStep(uint64_t step, uint32_t micro) {
  KillAt at;
  at.step = step;
  at.micro = micro;
  return at;
}

KillAt KillAfterStep(uint64_t step) {
  KillAt at;
  at.event = [step](const v1::Event& event) {
    return event.has_step() && event.step().step() >= step;
  };
  return at;
}

FakeDriver::FakeDriver(v1::RunRequest request, fake::Customise customise,
                       std::optional<uint64_t> noise, bool quiet)
    : request_(std::move(request)),
      customise_(std::move(customise)),
      noise_(noise),
      quiet_(quiet) {}

FakeDriver::~FakeDriver() { Remove(); }

void FakeDriver::Remove() {
  if (!folder_.empty()) {
    const std::string command = absl::StrCat("rm -rf '", folder_, "'");
    if (std::system(command.c_str()) != 0) {
      std::fprintf(stderr, "left behind: %s\n", folder_.c_str());
    }
  }
}

void FakeDriver::Restart() {
  Remove();
  // Thousands of checkpoints, each synced: in memory where that is possible.
  const std::string place =
      access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir();
  std::string pattern = absl::StrCat(place, "/reprise-fake-XXXXXX");
  folder_ = mkdtemp(pattern.data());
  attempt_ = 0;
}

LineageEvidence FakeDriver::Run(const std::vector<KillAt>& kills) {
  Restart();
  LineageEvidence lineage;
  for (const KillAt& kill : kills) lineage.attempts.push_back(Again(kill));
  lineage.attempts.push_back(Again(std::nullopt));
  return lineage;
}

AttemptEvidence FakeDriver::Again(const std::optional<KillAt>& kill) {
  v1::RunRequest request = request_;
  request.set_protocol("1");
  request.set_run_folder(absl::StrCat(folder_, "/run"));
  request.set_events(absl::StrCat(folder_, "/events-", ++attempt_));
  request.set_resume(v1::RunRequest::AUTO);
  std::optional<uint64_t> noise;
  if (noise_.has_value()) noise = KeyOf(*noise_, {++processes_});
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    auto writer = EventWriter::Open(request.events());
    if (!writer.ok()) _exit(99);
    const KillAt at = kill.value_or(KillAt{});
    KillingSink sink(writer->get(), at, quiet_);
    const ExitCode code = fake::RunFake(
        request, noise, &sink, [&](const fake::Assembly& assembly) {
          if (customise_) customise_(assembly);
          assembly.parts->observers.push_back(
              std::make_unique<KillingObserver>(at));
        });
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  AttemptEvidence attempt;
  absl::StatusOr<EventLog> log = ReadEvents(request.events());
  if (log.ok()) attempt.events = std::move(log->events);
  if (WIFSIGNALED(status)) {
    attempt.signal = WTERMSIG(status);
    if (kill.has_value() && attempt.signal == SIGKILL) {
      attempt.sent = Sent::kKill;
    }
  } else {
    attempt.exit_code = WEXITSTATUS(status);
  }
  return attempt;
}

}  // namespace reprise::conformance::testing
