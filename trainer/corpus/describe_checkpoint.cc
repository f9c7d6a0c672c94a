// Prints what a checkpoint says of itself, in its own version, a key and a
// value a line:
//
//   describe_checkpoint spec/vectors/released/v1/NAME/step-000000000017
//
// Exit codes: 0, 1 for usage, 11 when the checkpoint is refused.
#include <cstdio>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/checkpoint_store.h"
#include "format/vocabulary.h"

namespace reprise {
namespace {

void Print(const std::string& key, const std::string& value) {
  std::printf("%s\t%s\n", key.c_str(), value.c_str());
}

void PrintOptimizer(const Snapshot& s) {
  if (!s.optimizer.has_value()) return;
  Print("optimizer.kind", s.optimizer->kind);
  Print("optimizer.arithmetic", s.optimizer->arithmetic);
  std::set<uint64_t> steps;
  for (const ParameterState& state : s.optimizer->states) {
    steps.insert(state.step);
  }
  Print("optimizer.steps", absl::StrJoin(steps, ","));
}

void PrintProgress(const Snapshot& s) {
  if (s.schedule.has_value()) {
    Print("schedule.form", s.schedule->form);
    Print("schedule.position", absl::StrCat(s.schedule->position));
  }
  if (s.scaler.has_value()) {
    Print("scaler.arithmetic", s.scaler->arithmetic);
    Print("scaler.scale", absl::StrCat(s.scaler->scale));
    Print("scaler.growth_tracker", absl::StrCat(s.scaler->growth_tracker));
  }
  if (s.sampler.has_value()) {
    Print("sampler.algorithm", s.sampler->algorithm);
    Print("sampler.stream_algorithm", s.sampler->stream_algorithm);
    Print("sampler.augmentation", s.sampler->augmentation);
    Print("sampler.cursor", absl::StrCat(s.sampler->cursor));
  }
}

void PrintEnvironment(const Snapshot& s) {
  if (!s.environment.has_value()) return;
  const EnvironmentState& e = *s.environment;
  Print("environment.trainer_version", e.trainer_version);
  Print("environment.libtorch_version", e.libtorch_version);
  Print("environment.compiler", e.compiler);
  Print("environment.device_name", e.device_name);
  Print("environment.cpu_capability", e.cpu_capability);
  Print("environment.threads", absl::StrCat(e.threads));
  Print("environment.autocast_dtype", e.autocast_dtype);
  Print("environment.kernel_probe", absl::BytesToHexString(e.kernel_probe));
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "describe_checkpoint: expected a checkpoint folder\n");
    return ExitCode::EXIT_USAGE;
  }
  auto checkpoint = ReadAsStored(argv[1]);
  if (!checkpoint.ok()) {
    std::fprintf(stderr, "describe_checkpoint: %s\n",
                 std::string(checkpoint.status().message()).c_str());
    return ExitCode::EXIT_CHECKPOINT_REJECTED;
  }
  const Snapshot& s = checkpoint->snapshot;
  Print("format.major", absl::StrCat(checkpoint->format_major));
  Print("step", absl::StrCat(s.step));
  Print("attempt", absl::StrCat(s.attempt));
  Print("model.architecture", s.architecture);
  Print("model.initialisation", s.initialisation);
  PrintOptimizer(s);
  PrintProgress(s);
  PrintEnvironment(s);
  for (const ConfigField& field : s.config) {
    Print(absl::StrCat("config.", field.path), field.value);
  }
  for (const ItemRecord& record : s.inventory) {
    Print(absl::StrCat("presence.", TextOf(record.item)),
          TextOf(record.presence));
  }
  return ExitCode::EXIT_DONE;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) { return reprise::Main(argc, argv); }
