// Makes a testee of an unmodified trainer: see GUIDE.md.
//
//   log_adapter --adapter=FILE describe --out=F
//   log_adapter --adapter=FILE run --request=F
//
// Exit codes as in the protocol; 12 for every failure of the trainer itself. A
// trainer that died of a signal makes this program die of the same one.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "conformance/log_adapter/adapter_file.h"
#include "conformance/log_adapter/checkpoint_watch.h"
#include "conformance/log_adapter/line_reader.h"
#include "conformance/log_adapter/log_events.h"
#include "conformance/log_adapter/pty_process.h"
#include "conformance/protocol/event_log.h"
#include "conformance/runner/proc.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

namespace reprise::conformance {
namespace {

using namespace ::reprise::vocabulary::v1;  // NOLINT: the exit codes

volatile sig_atomic_t g_term = 0;
extern "C" void NoteTerm(int number) { g_term = number; }

int Fail(int code, const std::string& message) {
  fprintf(stderr, "log_adapter: %s\n", message.c_str());
  return code;
}

int CodeOf(const absl::Status& status) {
  return absl::IsUnimplemented(status) ? EXIT_UNSUPPORTED : EXIT_BAD_REQUEST;
}

class Run {
 public:
  Run(const AdapterFile& file, const RunRequest& request, Placeholders values,
      std::unique_ptr<EventWriter> writer)
      : adapter_(file.adapter()),
        values_(std::move(values)),
        request_(request),
        writer_(std::move(writer)),
        run_folder_(request.run_folder()),
        watch_(run_folder_, adapter_.checkpoints()) {}

  int Go() {
    const bool resumes = !watch_.found().empty();
    if (resumes) {
      values_["checkpoint"] =
          absl::StrCat(run_folder_, "/", watch_.found().back().path);
      values_["checkpoint_folder"] =
          std::filesystem::path(values_["checkpoint"]).parent_path().string();
    }
    LogEvents::Start start;
    start.run_id = RunId();
    if (values_.count("steps") > 0) {
      start.planned_steps =
          std::strtoull(values_["steps"].c_str(), nullptr, 10);
    }
    start.found = watch_.found();
    start.newest_was_named = resumes && NamesCheckpoint();
    if (!MayStart(request_.resume(), resumes)) {
      return Fail(EXIT_BAD_REQUEST,
                  resumes ? "resume is NEVER, but there is a checkpoint"
                          : "resume is REQUIRED, but there is no checkpoint");
    }
    if (FinishedBefore(start.planned_steps)) return EndAtOnce(start);
    events_ = std::make_unique<LogEvents>(
        adapter_, values_, start, [this](const Event& event) { Write(event); });

    auto trainer =
        PtyProcess::Start(Command(resumes), Environment(resumes),
                          adapter_.in_run_folder() ? run_folder_ : "");
    if (!trainer.ok()) {
      return Fail(EXIT_TRAINING_FAILED,
                  std::string(trainer.status().message()));
    }
    Follow(trainer->get());
    return End((*trainer)->status());
  }

 private:
  bool NamesCheckpoint() const {
    for (const auto* texts :
         {&adapter_.resume_arguments(), &adapter_.command()}) {
      for (const std::string& text : *texts) {
        if (absl::StrContains(text, "{checkpoint")) return true;
      }
    }
    for (const v1::Variable& one : adapter_.resume_environment()) {
      if (absl::StrContains(one.value(), "{checkpoint")) return true;
    }
    return false;
  }

  static bool MayStart(RunRequest::Resume resume, bool has_checkpoint) {
    if (resume == RunRequest::REQUIRED) return has_checkpoint;
    return resume != RunRequest::NEVER || !has_checkpoint;
  }

  // Many trainers do one more step when they are asked for a run that is over.
  std::string FinishedPath() const {
    return run_folder_ + "/.log_adapter_finished";
  }
  bool FinishedBefore(std::optional<uint64_t> planned) const {
    uint64_t steps = 0;
    return static_cast<bool>(std::ifstream(FinishedPath()) >> steps) &&
           planned.has_value() && steps >= *planned;
  }
  int EndAtOnce(const LogEvents::Start& start) {
    Event event;
    event.mutable_start()->set_run_id(start.run_id);
    event.mutable_start()->set_resumed_step(*start.planned_steps);
    event.mutable_start()->set_planned_steps(*start.planned_steps);
    Write(event);
    event.mutable_end()->set_step(*start.planned_steps);
    event.mutable_end()->set_finished(true);
    Write(event);
    return EXIT_DONE;
  }

  // The same for all attempts of a run folder.
  std::string RunId() const {
    const std::string path = run_folder_ + "/.log_adapter_run_id";
    std::string id;
    std::ifstream(path) >> id;
    if (!id.empty()) return id;
    std::ifstream("/proc/sys/kernel/random/uuid") >> id;
    std::ofstream(path) << id << "\n";
    return id;
  }

  std::vector<std::string> Command(bool resumes) const {
    std::vector<std::string> command;
    for (const std::string& text : adapter_.command()) {
      command.push_back(FillIn(text, values_));
    }
    for (const std::string& text :
         resumes ? adapter_.resume_arguments() : adapter_.fresh_arguments()) {
      command.push_back(FillIn(text, values_));
    }
    return command;
  }

  std::vector<std::pair<std::string, std::string>> Environment(
      bool resumes) const {
    std::vector<std::pair<std::string, std::string>> environment = {
        {"TERM", "dumb"}, {"COLUMNS", "500"}};
    const auto add = [&](const auto& variables) {
      for (const v1::Variable& one : variables) {
        environment.push_back({one.name(), FillIn(one.value(), values_)});
      }
    };
    add(adapter_.environment());
    if (resumes) add(adapter_.resume_environment());
    return environment;
  }

  void Write(const Event& event) {
    const absl::Status status = writer_->Write(event);
    // A testee whose events are lost cannot be judged.
    if (!status.ok()) {
      _exit(Fail(EXIT_TRAINING_FAILED, std::string(status.message())));
    }
  }

  void Follow(PtyProcess* trainer) {
    LineReader reader;
    bool forwarded = false;
    std::string bytes;
    const auto take = [this](const std::vector<std::string>& lines) {
      for (const std::string& line : lines) events_->TakeLine(line);
    };
    while (trainer->Read(absl::Milliseconds(20), &bytes)) {
      if (g_term != 0 && !forwarded) {
        forwarded = true;
        trainer->Signal(SIGTERM);
      }
      // The log of the trainer is our log.
      if (!bytes.empty()) {
        fwrite(bytes.data(), 1, bytes.size(), stdout);
        fflush(stdout);
        take(reader.Add(bytes));
      } else {
        take(reader.Idle());
      }
      bytes.clear();
      if (absl::Now() - last_look_ >= absl::Milliseconds(20)) {
        LookAtCheckpoints();
      }
    }
    take(reader.Finish());
    // One look sees the change, the next one that it is over.
    LookAtCheckpoints();
    LookAtCheckpoints();
    events_->Finish();
  }

  void LookAtCheckpoints() {
    if (adapter_.checkpoints().files().empty()) return;
    std::vector<pid_t> processes;
    for (const ProcessInfo& process : DescendantsOf(getpid())) {
      processes.push_back(process.pid);
    }
    const CheckpointWatch::News news = watch_.Look(processes);
    last_look_ = absl::Now();
    for (const CheckpointFile& file : news.begun) events_->SaveBegun(file);
    for (const CheckpointFile& file : news.committed) {
      events_->SaveCommitted(file);
    }
  }

  int End(int status) {
    if (WIFSIGNALED(status)) {
      events_->Note(
          absl::StrCat("the trainer died of signal ", WTERMSIG(status)));
      DieOf(WTERMSIG(status));
    }
    const int code = WEXITSTATUS(status);
    if (code == 128 + SIGTERM && g_term != 0) return code;
    if (code != 0 && code != EXIT_STOPPED_ON_REQUEST) {
      events_->Note(absl::StrCat("the trainer ended with exit code ", code));
      return EXIT_TRAINING_FAILED;
    }
    const bool finished = code == 0 && events_->SaysFinished();
    if (finished && values_.count("steps") > 0) {
      std::ofstream(FinishedPath()) << values_["steps"] << "\n";
    }
    events_->End(finished);
    if (code != 0) return code;
    return !finished && g_term != 0 ? EXIT_STOPPED_ON_REQUEST : EXIT_DONE;
  }

  [[noreturn]] static void DieOf(int number) {
    // The harness knows which signals it sent; a core file helps nobody.
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    // Signals that do not kill cannot have killed the trainer.
    _exit(EXIT_TRAINING_FAILED);
  }

  const v1::Adapter adapter_;
  Placeholders values_;
  const RunRequest request_;
  std::unique_ptr<EventWriter> writer_;
  const std::string run_folder_;
  CheckpointWatch watch_;
  std::unique_ptr<LogEvents> events_;
  absl::Time last_look_ = absl::InfinitePast();
};

int RunTrainer(const AdapterFile& file, const std::string& request_path) {
  absl::StatusOr<RunRequest> request = ReadRequest(request_path);
  if (!request.ok()) {
    return Fail(EXIT_BAD_REQUEST, std::string(request.status().message()));
  }
  const absl::Status status = CheckRequest(file.Describe(), *request);
  if (!status.ok()) {
    return Fail(CodeOf(status), std::string(status.message()));
  }
  absl::StatusOr<Placeholders> values = file.PlaceholdersFor(*request);
  if (!values.ok()) {
    return Fail(EXIT_BAD_REQUEST, std::string(values.status().message()));
  }
  auto writer = EventWriter::Open(request->events());
  if (!writer.ok()) {
    return Fail(EXIT_BAD_REQUEST, std::string(writer.status().message()));
  }
  Run run(file, *request, *std::move(values), *std::move(writer));
  return run.Go();
}

int Main(int argc, char** argv) {
  std::string adapter, out, request, verb;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    const auto value = [&](absl::string_view flag, std::string* to) {
      if (!absl::StartsWith(word, flag)) return false;
      *to = std::string(word.substr(flag.size()));
      return true;
    };
    if (value("--adapter=", &adapter) || value("--out=", &out) ||
        value("--request=", &request)) {
      continue;
    }
    if (absl::StartsWith(word, "-") || !verb.empty()) {
      return Fail(EXIT_USAGE, absl::StrCat("unknown argument ", word));
    }
    verb = std::string(word);
  }
  const bool describe = verb == "describe" && !out.empty();
  if (adapter.empty() || !(describe || (verb == "run" && !request.empty()))) {
    return Fail(EXIT_USAGE,
                "usage: log_adapter --adapter=FILE describe --out=F | "
                "log_adapter --adapter=FILE run --request=F");
  }
  absl::StatusOr<AdapterFile> file = AdapterFile::Read(adapter);
  if (!file.ok()) return Fail(EXIT_USAGE, std::string(file.status().message()));
  struct sigaction action = {};
  action.sa_handler = NoteTerm;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  if (describe) {
    const absl::Status status = WriteDescription(out, file->Describe());
    return status.ok() ? EXIT_DONE
                       : Fail(EXIT_USAGE, std::string(status.message()));
  }
  return RunTrainer(*file, request);
}

}  // namespace
}  // namespace reprise::conformance

int main(int argc, char** argv) {
  return reprise::conformance::Main(argc, argv);
}
