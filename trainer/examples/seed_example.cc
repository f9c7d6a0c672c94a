// The example that Reprise started from: train ResNet-18, record the losses,
// checkpoint, restore in a new process, and print the absolute error of every
// later loss. With everything restored it is exactly 0 on the CPU; then each of
// the four states asked for is left out in turn, to see what that does:
// the point in the LR schedule, the half-precision gradient scaler, the
// optimizer state, the dataset sampler.
//
//   bazel run //trainer/examples:seed_example -- --batch=4 --steps=12
//
// The program runs itself again for every resume, so nothing can survive in
// memory.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ftw.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/checkpoint_store.h"
#include "format/random/philox.h"
#include "format/version.h"
#include "format/vocabulary.h"
#include "trainer/amp/autocast.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/checkpoint/witness.h"
#include "trainer/config/config.h"
#include "trainer/data/fingerprint.h"
#include "trainer/data/sampler.h"
#include "trainer/device/environment.h"
#include "trainer/train_state.h"

ABSL_FLAG(int, batch, 4, "images a step");
ABSL_FLAG(int, size, 224, "height and width of an image, at least 32");
ABSL_FLAG(int, steps, 12, "steps of the whole run");
ABSL_FLAG(int, checkpoint_at, 0, "step of the checkpoint; 0: half way");
ABSL_FLAG(int, threads, 1, "CPU threads");
ABSL_FLAG(std::string, folder, "",
          "where the checkpoint and the losses go; empty: a temporary folder "
          "that is removed at the end");
ABSL_FLAG(std::string, resume, "",
          "used by the program itself: resume from --folder, leaving out the "
          "named state (none, schedule, scaler, optimizer, sampler)");

namespace reprise {
namespace {

constexpr int kClasses = 1000;
constexpr int kImages = 64;  // in the data set
constexpr uint64_t kSeed = 1;

TrainerConfig Config() {
  TrainerConfig config = Defaults();
  config.mutable_model()->set_kind("resnet18");
  config.mutable_optimizer()->set_kind("adam");
  config.mutable_optimizer()->set_lr(1e-3);
  config.mutable_optimizer()->set_weight_decay(0);
  config.mutable_data()->set_batch_size(absl::GetFlag(FLAGS_batch));
  config.mutable_schedule()->set_warmup(3);
  config.mutable_run()->set_steps(absl::GetFlag(FLAGS_steps));
  config.mutable_run()->set_seed(kSeed);
  // Too large on purpose: the first steps overflow and the scale settles, so
  // that a lost scaler shows.
  config.mutable_precision()->set_init_scale(1 << 18);
  return config;
}

// What the model needs to know of the data; the images are drawn on the fly.
Dataset Shape() {
  Dataset shape;
  shape.name = "random";
  shape.size = kImages;
  shape.channels = 3;
  shape.height = shape.width = absl::GetFlag(FLAGS_size);
  shape.classes = kClasses;
  return shape;
}

// Uniform random images and labels, each a function of its sample id only.
std::pair<at::Tensor, at::Tensor> RandomImages(
    const std::vector<uint64_t>& ids) {
  const Dataset shape = Shape();
  const int64_t n = ids.size();
  at::Tensor images = at::empty({n, 3, shape.height, shape.width}, at::kFloat);
  at::Tensor labels = at::empty({n}, at::kLong);
  float* pixel = images.mutable_data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) {
    Stream stream(kSeed, StreamPurpose::kSyntheticSample, /*epoch=*/0, ids[i]);
    labels.mutable_data_ptr<int64_t>()[i] = stream.UniformU32Below(kClasses);
    for (int64_t p = 0; p < shape.channels * shape.height * shape.width; ++p) {
      *pixel++ = static_cast<float>(2 * stream.UniformDouble() - 1);
    }
  }
  return {images, labels};
}

// One step; returns its loss.
absl::StatusOr<float> Step(const Schedule& schedule, TrainState* state) {
  const auto [images, labels] =
      RandomImages(state->sampler->NextBatch().sample_ids);
  std::vector<at::Tensor> parameters;
  for (const NamedTensor& p : state->model->Parameters()) {
    parameters.push_back(p.tensor);
  }
  state->optimizer->ZeroGrad();
  at::Tensor loss;
  {
    const amp::Autocast autocast(at::kCPU, at::kHalf);
    loss = at::cross_entropy_loss(state->model->Forward(images), labels);
  }
  state->scaler->Scale(loss).backward();
  if (auto s = state->scaler->Unscale(parameters); !s.ok()) return s;
  if (state->scaler->found_inf()) {
    ++state->skipped;
  } else {
    state->optimizer->Step();
    ++state->applied;
    ++state->schedule_position;
  }
  state->scaler->Update();
  for (Optimizer::Group& group : state->optimizer->groups()) {
    group.lr = group.base_lr * schedule.Fraction(state->schedule_position);
  }
  state->sampler->Advance();
  ++state->attempted;
  return loss.item<float>();
}

// The fp32 losses of the uninterrupted run ("reference", from step 1) or of a
// resumed one (by what it left out, from the step after the checkpoint).
std::string LossFile(const std::string& run) {
  return absl::StrCat(absl::GetFlag(FLAGS_folder), "/losses.", run, ".f32");
}

// The uninterrupted run: saves on the way and writes every loss.
absl::Status Reference(int checkpoint_at) {
  const TrainerConfig config = Config();
  auto schedule = MakeSchedule(config, Shape());
  if (!schedule.ok()) return schedule.status();
  auto state = MakeTrainState(config, Shape(), at::kCPU);
  if (!state.ok()) return state.status();
  CheckpointStore::Options options;
  options.format_major = kV2Major;
  auto store =
      CheckpointStore::Open(absl::GetFlag(FLAGS_folder) + "/run", options);
  if (!store.ok()) return store.status();
  RunInfo run;
  run.fingerprint = FingerprintOf(Shape());
  run.run_id = std::string(32, '0');
  run.config = Flatten(config);
  run.architecture = config.model().kind();
  run.environment = DescribeEnvironment(at::kCPU, at::kHalf);

  std::ofstream losses(LossFile("reference"), std::ios::binary);
  std::printf("uninterrupted run\n");
  while (state->attempted < config.run().steps()) {
    const float scale = state->scaler->scale();
    const double lr = state->optimizer->groups()[0].lr;
    auto loss = Step(*schedule, &*state);
    if (!loss.ok()) return loss.status();
    losses.write(reinterpret_cast<const char*>(&*loss), sizeof(float));
    std::printf("  step %2d  loss %.6f  lr %.2e  scale %g\n",
                static_cast<int>(state->attempted), *loss, lr, scale);
    if (state->attempted == static_cast<uint64_t>(checkpoint_at)) {
      auto saved = (*store)->Save(CaptureState(*state, *schedule, run));
      if (!saved.ok()) return saved.status();
      std::printf("  ------- checkpoint of step %d\n", checkpoint_at);
    }
  }
  losses.close();
  return losses
             ? absl::OkStatus()
             : absl::UnavailableError("cannot write " + LossFile("reference"));
}

// Puts one part of `state` back to that of a fresh run.
void LeaveOut(const std::string& what, const TrainerConfig& config,
              const Schedule& schedule, TrainState* state) {
  auto fresh = MakeTrainState(config, Shape(), at::kCPU);
  if (what == "schedule") {
    state->schedule_position = 0;
    for (Optimizer::Group& group : state->optimizer->groups()) {
      group.lr = group.base_lr * schedule.Fraction(0);
    }
  } else if (what == "scaler") {
    state->scaler = std::move(fresh->scaler);
  } else if (what == "optimizer") {
    const std::vector<Optimizer::Group> groups = state->optimizer->groups();
    state->optimizer = *Optimizer::Create("adam", groups);
  } else if (what == "sampler") {
    state->sampler = std::move(fresh->sampler);
  }
}

// A resumed run in this process; prints a row with the error of every loss.
absl::Status Resume(const std::string& left_out) {
  std::ifstream file(LossFile("reference"), std::ios::binary);
  std::vector<float> reference(absl::GetFlag(FLAGS_steps));
  if (!file.read(reinterpret_cast<char*>(reference.data()),
                 reference.size() * sizeof(float))) {
    return absl::NotFoundError("no complete " + LossFile("reference"));
  }
  const TrainerConfig config = Config();
  auto schedule = MakeSchedule(config, Shape());
  if (!schedule.ok()) return schedule.status();
  auto state = MakeTrainState(config, Shape(), at::kCPU);
  if (!state.ok()) return state.status();
  auto store = CheckpointStore::Open(absl::GetFlag(FLAGS_folder) + "/run", {});
  if (!store.ok()) return store.status();
  auto newest = (*store)->NewestVerified();
  if (!newest.ok()) return newest.status();
  if (!newest->checkpoint.has_value()) {
    return absl::NotFoundError("no checkpoint in " +
                               absl::GetFlag(FLAGS_folder));
  }
  const Snapshot& snapshot = newest->checkpoint->snapshot;
  if (auto s =
          RestoreState(snapshot, *schedule, FingerprintOf(Shape()), &*state);
      !s.ok()) {
    return s;
  }
  if (auto s = CheckWitness(*snapshot.witness, *state); !s.ok()) return s;
  LeaveOut(left_out, config, *schedule, &*state);
  std::printf("%-22s", left_out == "none"
                           ? "everything restored"
                           : absl::StrCat("without ", left_out).c_str());
  std::ofstream losses(LossFile(left_out), std::ios::binary);
  while (state->attempted < config.run().steps()) {
    const float expected = reference[state->attempted];
    auto loss = Step(*schedule, &*state);
    if (!loss.ok()) return loss.status();
    losses.write(reinterpret_cast<const char*>(&*loss), sizeof(float));
    std::printf(" %9.3g", std::abs(double{*loss} - expected));
  }
  std::printf("\n");
  losses.close();
  return losses ? absl::OkStatus()
                : absl::UnavailableError("cannot write " + LossFile(left_out));
}

// Runs this program again with --resume.
absl::Status ResumeInNewProcess(const std::string& left_out) {
  std::fflush(stdout);
  std::vector<std::string> arguments = {
      "seed_example",
      absl::StrCat("--resume=", left_out),
      absl::StrCat("--folder=", absl::GetFlag(FLAGS_folder)),
      absl::StrCat("--batch=", absl::GetFlag(FLAGS_batch)),
      absl::StrCat("--size=", absl::GetFlag(FLAGS_size)),
      absl::StrCat("--steps=", absl::GetFlag(FLAGS_steps)),
      absl::StrCat("--threads=", absl::GetFlag(FLAGS_threads)),
  };
  const pid_t child = fork();
  if (child < 0) return absl::InternalError("fork failed");
  if (child == 0) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(&argument[0]);
    pointers.push_back(nullptr);
    execv("/proc/self/exe", pointers.data());
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
      WEXITSTATUS(status) != 0) {
    return absl::InternalError(
        absl::StrCat("the resumed process failed, wait status ", status));
  }
  return absl::OkStatus();
}

absl::Status Main() {
  const int steps = absl::GetFlag(FLAGS_steps);
  const int at = absl::GetFlag(FLAGS_checkpoint_at) != 0
                     ? absl::GetFlag(FLAGS_checkpoint_at)
                     : steps / 2;
  if (absl::GetFlag(FLAGS_batch) < 1 || absl::GetFlag(FLAGS_batch) > kImages ||
      absl::GetFlag(FLAGS_size) < 32 || absl::GetFlag(FLAGS_threads) < 1 ||
      steps < 4 || at < 1 || at >= steps) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "expected 1 <= --batch <= %d, --size >= 32, --threads >= 1, --steps >= "
        "4 and 1 <= --checkpoint_at < --steps",
        kImages));
  }
  SetUpLibTorch(absl::GetFlag(FLAGS_threads));
  if (!absl::GetFlag(FLAGS_resume).empty()) {
    return Resume(absl::GetFlag(FLAGS_resume));
  }
  const bool temporary = absl::GetFlag(FLAGS_folder).empty();
  if (temporary) {
    const char* base = getenv("TEST_TMPDIR");
    std::string pattern =
        absl::StrCat(base != nullptr ? base : "/tmp", "/seed_example.XXXXXX");
    if (mkdtemp(&pattern[0]) == nullptr) {
      return absl::UnavailableError("cannot make " + pattern);
    }
    absl::SetFlag(&FLAGS_folder, pattern);
  }
  absl::Status status = Reference(at);
  if (status.ok()) {
    std::printf(
        "\nabsolute error of the loss after a resume in a new process\n"
        "%-22s",
        "step");
    for (int step = at + 1; step <= steps; ++step) std::printf(" %9d", step);
    std::printf("\n");
    for (const char* left_out :
         {"none", "schedule", "scaler", "optimizer", "sampler"}) {
      status.Update(ResumeInNewProcess(left_out));
    }
  }
  if (temporary) {
    nftw(
        absl::GetFlag(FLAGS_folder).c_str(),
        [](const char* path, const struct stat*, int, FTW*) {
          return remove(path);
        },
        16, FTW_DEPTH | FTW_PHYS);
  }
  return status;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Trains ResNet-18, restores it in new processes and prints the errors.");
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = reprise::Main();
  if (status.ok()) return reprise::ExitCode::EXIT_DONE;
  std::fprintf(stderr, "seed_example: %s\n",
               std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument
             ? reprise::ExitCode::EXIT_USAGE
             : reprise::ExitCode::EXIT_TRAINING_FAILED;
}
