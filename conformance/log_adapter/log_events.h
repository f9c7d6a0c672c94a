// From the lines of a log, and what is seen of checkpoint files, to events.
//
//   LogEvents events(adapter, placeholders, start, sink);
//   events.TakeLine("step 20 loss 0.6931");
//   events.SaveCommitted(file);
//   events.Finish();
//
// The StartEvent is written when it is known which step the run goes on from:
// by a RESUMED line, else by the first step that the log tells of, which is
// evidence of what the trainer does and not of what its file is called; else by
// the name of the checkpoint. What comes earlier waits for it. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_LOG_ADAPTER_LOG_EVENTS_H_
#define REPRISE_CONFORMANCE_LOG_ADAPTER_LOG_EVENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/log_adapter/adapter_file.h"
#include "re2/re2.h"

namespace reprise::conformance {

// A checkpoint file as it lies there.
struct CheckpointFile {
  // Relative to the run folder.
  std::string path;
  // Equal for equal bytes, wherever the folder moves: path, '#' and a digest of
  // size, beginning and end.
  std::string identity;
  // From its name.
  std::optional<uint64_t> step;
};

class LogEvents {
 public:
  struct Start {
    std::string run_id;
    std::optional<uint64_t> planned_steps;
    // Checkpoints that lay there when the trainer was started, newest last.
    std::vector<CheckpointFile> found;
    // `found.back()` was given to the trainer by name.
    bool newest_was_named = false;
  };

  // `sink` gets every event in order.
  LogEvents(const v1::Adapter& adapter, const Placeholders& placeholders,
            Start start, std::function<void(const Event&)> sink);

  void TakeLine(const std::string& line);

  // A checkpoint file began to change / is whole and closed.
  void SaveBegun(const CheckpointFile& file);
  void SaveCommitted(const CheckpointFile& file);

  // The log is at its end: everything that waited is written.
  void Finish();
  void Note(const std::string& text);
  // `finished` as said by the log and the exit code 0.
  void End(bool finished);

  // All planned steps were done, by the log.
  bool SaysFinished() const;

 private:
  struct Pattern {
    v1::LinePattern line;
    std::unique_ptr<RE2> regex;
  };
  // Values of the named groups that took part in a match.
  using Groups = std::map<std::string, std::string>;

  static bool Match(const Pattern& pattern, const std::string& line,
                    Groups* groups);
  void TakeStep(const v1::LinePattern& line, const Groups& groups);
  void TakeCarry(const v1::LinePattern& line, const Groups& groups);
  void TakeEvaluation(const v1::LinePattern& line, const Groups& groups);
  void TakeSave(const v1::LinePattern& line, const Groups& groups);
  void TakeResumed(const v1::LinePattern& line, const Groups& groups);
  void EmitStep(uint64_t step, const Groups& groups);
  void CommitAs(std::optional<uint64_t> step, const std::string& name);

  std::optional<uint64_t> StepOf(const v1::LinePattern& line,
                                 const Groups& groups) const;
  // The run goes on from `resumed`; only the first call counts.
  void Begin(uint64_t resumed);
  void Emit(Event event);

  const Start start_;
  const std::function<void(const Event&)> sink_;
  // Checkpoints are told by their files, else by lines of the log.
  const bool commits_by_file_;
  std::vector<Pattern> patterns_;
  bool has_finished_pattern_ = false;
  bool begun_ = false;
  std::vector<Event> waiting_;
  std::string resumed_name_;
  uint64_t last_step_ = 0;
  std::optional<uint64_t> planned_;
  bool finished_line_ = false;
  // Of CARRY lines since the last step.
  Groups carried_;
  std::optional<uint64_t> carried_step_;
  // A step that waits for the CARRY line after it.
  std::optional<Groups> waiting_step_;
  // The step of a save that has begun.
  std::optional<uint64_t> open_save_;
  std::optional<uint64_t> committed_step_;
  std::string newest_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_LOG_ADAPTER_LOG_EVENTS_H_
