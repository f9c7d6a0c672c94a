// For tests: takes a file that Python's torch.save wrote in the middle of a run
// to the trainer, and compares what the trainer does with what Python did next.
//
//   const Imported imported = ImportFixture("nanogpt", 6, "--group_names=a,b");
//   RunTrainer({"--resume=" + imported.checkpoint, ...});
//   EXPECT_EQ(CompareWithPython(folder, "nanogpt.txt").first_ulp, 0);
#ifndef REPRISE_TRAINER_PARITY_PYTHON_RUN_H_
#define REPRISE_TRAINER_PARITY_PYTHON_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

// Standard output of a shell's command, which must succeed.
std::string OutputOf(const std::string& command);

// What `ckpt import` makes of a fixture.
struct Imported {
  std::string folder;
  std::string checkpoint;
  // What it says is lacking for the very same run.
  std::vector<std::string> lacking;
  std::string output;
};

// Imports fixtures/NAME.pt, whose step that must be, with `flags`.
Imported ImportFixture(const std::string& name, uint64_t step,
                       const std::string& flags);

// --resume=CHECKPOINT and --accept_missing of all that it lacks.
std::vector<std::string> Accepting(const Imported& imported);

// The trainer's losses beside those of a fixture (step, loss, and the scale
// after it where there is one), which is printed.
struct PythonsLosses {
  int compared = 0;
  uint64_t first_ulp = 0;  // units in the last place, of the first loss
  uint64_t worst_ulp = 0;  // of all
};

// Scales must be Python's exactly: fails the test where one is not, or where a
// step of the fixture is missing. `scale` is the file's (8 hexadecimal digits),
// with which the first of those steps was done; "" where there is no scaler.
PythonsLosses CompareWithPython(const std::string& folder,
                                const std::string& fixture,
                                std::string scale = "");

}  // namespace reprise

#endif  // REPRISE_TRAINER_PARITY_PYTHON_RUN_H_
