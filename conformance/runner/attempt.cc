// One file, though a long one: a single loop over one process, and everything
// that may end it.
#include "conformance/runner/attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "conformance/runner/kill_trigger.h"
#include "conformance/runner/outcome.h"
#include "conformance/runner/process_tree.h"

namespace reprise::conformance {
namespace {

using v1::AttemptRecord;
using v1::Event;
using v1::Kill;
using v1::Outcome;
using v1::SaveEvent;

// Longest sleep between two looks at sizes and deadlines.
constexpr absl::Duration kTick = absl::Milliseconds(10);

uint64_t SizeOf(const std::string& path) {
  struct stat entry;
  return stat(path.c_str(), &entry) == 0 ? entry.st_size : 0;
}

// Wakes a poll() when a file grows; without inotify the tick does.
class GrowthWatch {
 public:
  explicit GrowthWatch(const std::string& path)
      : fd_(path.empty() ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (fd_ >= 0) inotify_add_watch(fd_, path.c_str(), IN_MODIFY);
  }
  ~GrowthWatch() {
    if (fd_ >= 0) close(fd_);
  }
  GrowthWatch(const GrowthWatch&) = delete;
  GrowthWatch& operator=(const GrowthWatch&) = delete;

  int fd() const { return fd_; }
  void Drain() {
    char buffer[4096];
    while (fd_ >= 0 && read(fd_, buffer, sizeof(buffer)) > 0) {
    }
  }

 private:
  const int fd_;
};

class Attempt {
 public:
  explicit Attempt(const AttemptOptions& options)
      : options_(options),
        began_(absl::Now()),
        trigger_(options.kill, options.means, began_),
        tail_(options.events_path, options.limits.events) {}

  AttemptResult Run() {
    *record().mutable_kill() = options_.kill;
    if (!MakeFiles()) return Finish();
    ProcessTree::Options start;
    start.command = options_.command;
    start.working_folder = options_.working_folder;
    start.environment = options_.environment;
    start.stdout_path = options_.stdout_path;
    start.stderr_path = options_.stderr_path;
    start.grace_for_rest = options_.deadlines.rest;
    auto tree = ProcessTree::Start(start);
    if (!tree.ok()) {
      Decide(v1::OUTCOME_HARNESS_ERROR, std::string(tree.status().message()));
      return Finish();
    }
    tree_ = std::move(*tree);
    GrowthWatch growth(options_.events_path);
    last_event_ = began_;
    while (!tree_->gone()) {
      Wait(growth);
      tree_->Update();
      if (tree_->gone()) break;
      if (killed_) {
        if (!tree_->WaitUntilGone()) break;
        continue;
      }
      ReadEvents();
      CheckLimits();
      if (!tree_->end().has_value()) {
        CheckDeadlines();
        CheckKill();
      }
    }
    ReadEvents();
    return Finish();
  }

 private:
  AttemptRecord& record() { return result_.record; }
  double Elapsed() const { return absl::ToDoubleSeconds(absl::Now() - began_); }

  // The events file is there from the start, so that its growth can be watched.
  bool MakeFiles() {
    for (const std::string& path :
         {options_.events_path, options_.stdout_path, options_.stderr_path}) {
      if (path.empty()) continue;
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
      if (fd < 0) {
        Decide(v1::OUTCOME_HARNESS_ERROR,
               absl::StrCat("cannot make ", path, ": ", strerror(errno)));
        return false;
      }
      close(fd);
    }
    return true;
  }

  void Wait(const GrowthWatch& growth) {
    const absl::Duration left = killed_ ? kTick : trigger_.due() - absl::Now();
    const timespec timeout =
        absl::ToTimespec(std::max(absl::ZeroDuration(), std::min(left, kTick)));
    pollfd ready[2] = {{tree_->fd(), POLLIN, 0}, {growth.fd(), POLLIN, 0}};
    ppoll(ready, growth.fd() >= 0 ? 2 : 1, &timeout, nullptr);
    const_cast<GrowthWatch&>(growth).Drain();
  }

  // The first decision stands.
  void Decide(Outcome outcome, const std::string& detail) {
    if (record().outcome() != v1::OUTCOME_UNSPECIFIED) return;
    record().set_outcome(outcome);
    record().set_detail(detail);
  }

  void KillTree(const std::string& why) {
    if (killed_) return;
    killed_ = true;
    NoteSignal(SIGKILL, why);
    tree_->KillAll();
  }

  void NoteSignal(int number, const std::string& why) {
    v1::SentSignal* sent = record().add_sent();
    sent->set_number(number);
    sent->set_why(why);
    sent->set_seconds(Elapsed());
    sent->set_events(result_.events.size());
  }

  void Condemn(Outcome outcome, const std::string& detail) {
    Decide(outcome, detail);
    KillTree(OutcomeText(outcome));
  }

  void ReadEvents() {
    if (options_.events_path.empty()) return;
    std::vector<Event> fresh;
    const absl::Status status = tail_.Read(&fresh);
    const absl::Time now = absl::Now();
    for (Event& event : fresh) {
      last_event_ = now;
      TakeEvent(event, now);
      result_.events.push_back(std::move(event));
      result_.seconds.push_back(absl::ToDoubleSeconds(now - began_));
    }
    if (status.ok()) return;
    const std::string detail(status.message());
    if (absl::IsResourceExhausted(status)) {
      Condemn(v1::OUTCOME_FLOODED_EVENTS, detail);
    } else if (absl::IsDataLoss(status)) {
      Condemn(v1::OUTCOME_PROTOCOL_VIOLATION, detail);
    } else {
      Condemn(v1::OUTCOME_GARBAGE_EVENTS, detail);
    }
  }

  void TakeEvent(const Event& event, absl::Time now) {
    if (options_.on_event) options_.on_event(event);
    const std::string violation = order_.Take(event, options_.kill.hold());
    if (!violation.empty()) {
      Condemn(v1::OUTCOME_PROTOCOL_VIOLATION, violation);
    }
    if (event.has_start() && record().start_seconds() == 0) {
      record().set_start_seconds(absl::ToDoubleSeconds(now - began_));
    }
    if (event.has_save() && event.save().phase() == SaveEvent::COMMITTED) {
      record().set_newest_commit(event.save().checkpoint());
      record().set_newest_commit_step(event.save().step());
    }
    trigger_.Take(event, now);
    if (!trigger_.ignored_hold().empty()) {
      Condemn(v1::OUTCOME_FALSE_CLAIM, trigger_.ignored_hold());
    }
  }

  void CheckLimits() {
    const uint64_t log =
        SizeOf(options_.stdout_path) + SizeOf(options_.stderr_path);
    if (log > options_.limits.log_bytes) {
      Condemn(v1::OUTCOME_FLOODED_LOG,
              absl::StrCat("it wrote ", log,
                           " bytes to standard output and error; the limit is ",
                           options_.limits.log_bytes));
    }
    if (options_.cancelled && options_.cancelled()) {
      Condemn(v1::OUTCOME_CANCELLED,
              "stopped by a person or by "
              "the end of the time given");
    }
  }

  void CheckDeadlines() {
    const absl::Time now = absl::Now();
    const Deadlines& deadlines = options_.deadlines;
    const auto over = [now](absl::Time since, absl::Duration deadline) {
      return now - since > deadline;
    };
    if (over(began_, deadlines.whole)) {
      Condemn(v1::OUTCOME_TOO_LONG,
              absl::StrCat("still running after ",
                           absl::FormatDuration(deadlines.whole)));
    } else if (term_sent_.has_value()) {
      if (over(*term_sent_, deadlines.grace)) {
        Condemn(v1::OUTCOME_IGNORED_SIGTERM,
                absl::StrCat("still running ",
                             absl::FormatDuration(deadlines.grace),
                             " after SIGTERM"));
      }
    } else if (options_.events_path.empty() || !order_.started()) {
      if (over(began_, deadlines.start)) {
        Condemn(
            v1::OUTCOME_HUNG_AT_START,
            absl::StrCat(
                options_.events_path.empty() ? "no end" : "no StartEvent",
                " within ", absl::FormatDuration(deadlines.start), HalfLine()));
      }
    } else if (over(last_event_, deadlines.silence)) {
      Condemn(v1::OUTCOME_SILENT,
              absl::StrCat(order_.ended() ? "still running, " : "no event for ",
                           absl::FormatDuration(deadlines.silence),
                           order_.ended() ? " after its EndEvent" : "",
                           HalfLine()));
    }
  }

  std::string HalfLine() const {
    if (tail_.torn_bytes() == 0) return "";
    return absl::StrCat("; the events file ends inside a line of ",
                        tail_.torn_bytes(), " bytes");
  }

  void CheckKill() {
    if (killed_ || term_sent_.has_value() || absl::Now() < trigger_.due()) {
      return;
    }
    if (options_.kill.signal() == Kill::TERM) {
      term_sent_ = absl::Now();
      NoteSignal(SIGTERM, "planned");
      tree_->Signal(SIGTERM);
    } else {
      planned_kill_ = true;
      KillTree("planned");
    }
  }

  // Everything has ended; gives it a name.
  AttemptResult Finish() {
    *record().mutable_kill() = trigger_.kill();
    record().set_events(tail_.lines());
    record().set_torn_bytes(tail_.torn_bytes());
    record().set_seconds(Elapsed());
    record().set_landed_in(PlaceOfEnd(result_.events));
    CutLog();
    if (tree_ != nullptr) Judge();
    return std::move(result_);
  }

  void Judge() {
    EndFacts facts;
    facts.start_failure = tree_->start_failure();
    facts.end = tree_->end();
    facts.planned_kill = planned_kill_;
    facts.term_sent = term_sent_.has_value();
    facts.events_expected = !options_.events_path.empty();
    facts.started = order_.started();
    facts.finished = order_.finished();
    facts.all_features_claimed = options_.all_features_claimed;
    facts.torn_bytes = tail_.torn_bytes();
    facts.torn_text = tail_.torn_text();
    if (facts.end.has_value()) {
      if (facts.end->exit_code.has_value()) {
        record().set_exit_code(*facts.end->exit_code);
      } else {
        record().set_signal(*facts.end->signal);
      }
    }
    record().set_kill_landed((planned_kill_ && facts.end.has_value() &&
                              facts.end->killed_by_owner) ||
                             term_sent_.has_value());
    for (const std::string& left : tree_->left_behind()) {
      record().add_left_processes(left);
    }
    if (!tree_->trouble().empty()) {
      record().clear_outcome();
      Decide(v1::OUTCOME_HARNESS_ERROR, tree_->trouble());
      return;
    }
    const NamedEnd end = NameEnd(facts);
    Decide(end.outcome, end.detail);
    if (IsGood(record().outcome()) && !tree_->left_behind().empty()) {
      record().set_outcome(v1::OUTCOME_LEFT_PROCESSES);
      record().set_detail(
          absl::StrCat("after its end these were still running: ",
                       absl::StrJoin(tree_->left_behind(), ", ")));
    }
  }

  void CutLog() {
    for (const std::string& path :
         {options_.stdout_path, options_.stderr_path}) {
      if (SizeOf(path) <= options_.limits.log_bytes) continue;
      if (truncate(path.c_str(), options_.limits.log_bytes) == 0) {
        record().set_log_cut(true);
      }
    }
    record().set_stdout_bytes(SizeOf(options_.stdout_path));
    record().set_stderr_bytes(SizeOf(options_.stderr_path));
  }

  const AttemptOptions& options_;
  const absl::Time began_;
  KillTrigger trigger_;
  EventTail tail_;
  EventOrder order_;
  std::unique_ptr<ProcessTree> tree_;
  AttemptResult result_;
  absl::Time last_event_;
  std::optional<absl::Time> term_sent_;
  bool planned_kill_ = false;
  // SIGKILL was sent to the tree, for whatever reason.
  bool killed_ = false;
};

}  // namespace

AttemptResult RunAttempt(const AttemptOptions& options) {
  return Attempt(options).Run();
}

}  // namespace reprise::conformance
