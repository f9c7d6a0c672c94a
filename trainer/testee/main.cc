// The reference trainer as a testee of the conformance protocol:
//
//   testee describe --out=FILE
//   testee run --request=FILE
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "conformance/protocol/event_log.h"
#include "conformance/protocol/messages.h"
#include "format/refusal.h"
#include "trainer/config/config.h"
#include "trainer/session.h"
#include "trainer/testee/holding_file_system.h"
#include "trainer/testee/testee_observer.h"
#include "trainer/version.h"

namespace reprise {
namespace {

namespace v1 = conformance::v1;

// Items that no run of this trainer has.
const auto& kLacking = *new std::map<Item, const char*>{
    {Item::RNG_CUDA, "the bed is on the CPU"},
    {Item::USER, "nothing that training reads"},
};

// Not state that training reads.
const auto& kWithoutDigest =
    *new std::set<Item>{Item::CONFIG, Item::ENVIRONMENT, Item::WITNESS};

conformance::Description Describe() {
  conformance::Description d;
  d.set_protocol(std::string(conformance::kProtocolVersion));
  d.set_name("reprise reference trainer");
  d.set_version(kTrainerVersion);
  for (const char* workload :
       {"mlp", "convnet", "resnet18", "plateau", "gpt", "half", "frozen"}) {
    d.add_workloads(workload);
  }
  for (const char* feature :
       {"inject_overflow", "accumulation", "save_at_micro", "scaler", "ema",
        "plateau", "early_stop", "frozen", "half_parameters", "precision",
        "background_save", "moves"}) {
    d.add_features(feature);
  }
  d.set_determinism(v1::EXACT);
  for (v1::Point point : {v1::P0, v1::P1, v1::P2, v1::P3, v1::P4, v1::P5,
                          v1::P6, v1::S1, v1::S2, v1::S3, v1::S4, v1::S5,
                          v1::S6, v1::S7, v1::S8, v1::LOAD, v1::EVALUATION}) {
    d.add_hold_points(point);
  }
  for (const char* channel :
       {"step", "ids", "lr", "loss", "scale", "skipped", "grad_norm",
        "update_norm", "update_norms", "applied", "samples", "epoch", "rng",
        "parameters"}) {
    d.add_channels(channel);
  }
  for (int number = Item::MODEL_PARAMS; number <= Item::WITNESS; ++number) {
    const Item item = static_cast<Item>(number);
    if (kLacking.count(item) == 0 && kWithoutDigest.count(item) == 0) {
      d.add_digests(item);
    }
  }
  auto lacks = [&d](Item item, const char* reason) {
    v1::NotApplicable* entry = d.add_not_applicable();
    entry->set_item(item);
    entry->set_reason(reason);
  };
  for (const auto& [item, reason] : kLacking) lacks(item, reason);
  return d;
}

// A small bed in which every state matters: dropout, batch norm, clipping that
// bites, a scale that moves, a rate that changes every step.
ExplicitFields Bed(const conformance::RunRequest& request) {
  const std::string workload =
      request.workload().empty() ? "mlp" : request.workload();
  ExplicitFields given = {
      {"data.name", "synthetic"},
      {"data.train_limit", "200"},
      {"data.test_limit", "50"},
      {"data.batch_size", "10"},
      {"data.synthetic_size", "12"},
      {"model.kind", workload},
      {"model.hidden", "24"},
      {"model.dropout", "0.25"},
      {"precision.scaler", "true"},
      {"precision.init_scale", "1048576"},
      {"precision.growth_interval", "5"},
      {"run.eval_every", "20"},
      {"run.threads", "1"},
      {"run.steps", "60"},
      {"run.save_every", "10"},
      {"schedule.warmup", "5"},
      {"ema.decay", "0.9"},
      {"best.metric", "loss"},
      {"best.patience", "1000"},
  };
  if (workload == "plateau") {
    // A rate that evaluations decide: small steps without a warm-up, so that
    // they soon stop helping.
    given["model.kind"] = "mlp";
    given["schedule.form"] = "plateau-v1";
    given["schedule.patience"] = "0";
    given["schedule.threshold"] = "0.05";
    given["schedule.warmup"] = "0";
    given["run.eval_every"] = "5";
  }
  if (workload == "gpt") {
    // Two names of one tensor, and text.
    for (const auto& [name, value] :
         ExplicitFields{{"model.layers", "2"},
                        {"model.heads", "2"},
                        {"model.hidden", "16"},
                        {"data.name", "text"},
                        {"data.sequence_length", "16"},
                        {"data.augment", "false"},
                        {"data.tail", "span"}}) {
      given[name] = value;
    }
  }
  if (workload == "half") {
    // Masters: the matrices are kept in bf16.
    given["model.kind"] = "mlp";
    given["model.dtype"] = "bf16";
    given["precision.mode"] = "bf16";
  }
  if (workload == "frozen") {
    given["model.kind"] = "mlp";
    given["model.frozen"] = "^fc2";
    given["optimizer.kind"] = "sgd";
    given["optimizer.lr"] = "0.05";
  }
  if (workload == "resnet18") {
    given["data.synthetic_size"] = "32";
    given["data.train_limit"] = "40";
    given["data.test_limit"] = "4";
    given["data.batch_size"] = "2";
  }
  if (request.has_seed()) given["run.seed"] = absl::StrCat(request.seed());
  if (request.has_steps()) given["run.steps"] = absl::StrCat(request.steps());
  if (request.has_save_every()) {
    given["run.save_every"] = absl::StrCat(request.save_every());
  }
  if (!request.precision().empty()) {
    given["precision.mode"] = request.precision();
  }
  if (request.has_accumulation() && request.accumulation() > 0) {
    given["accumulation.steps"] = absl::StrCat(request.accumulation());
    // An epoch has as many steps as without, and as many saves.
    uint64_t samples = 0;
    if (absl::SimpleAtoi(given["data.train_limit"], &samples)) {
      given["data.train_limit"] =
          absl::StrCat(samples * request.accumulation());
    }
  }
  for (const v1::Setting& setting : request.settings()) {
    given[setting.name() == "save_at_micro" ? "save.at_micro"
                                            : setting.name()] = setting.value();
  }
  return given;
}

int Fail(ExitCode code, const absl::Status& status) {
  std::fprintf(stderr, "testee: %s: %s\n", TextOf(code).c_str(),
               std::string(status.message()).c_str());
  return code;
}

int Run(const std::string& file) {
  auto request = conformance::ReadRequest(file);
  if (!request.ok()) return Fail(ExitCode::EXIT_BAD_REQUEST, request.status());
  if (auto s = conformance::CheckRequest(Describe(), *request); !s.ok()) {
    return Fail(ExitCodeFor(s), s);
  }
  const ExplicitFields bed = Bed(*request);
  TrainerConfig known = Defaults();
  for (const auto& [name, value] : bed) {
    const absl::Status s = SetField(&known, name, value);
    // A field that this trainer does not have is another thing than a value
    // that it cannot take.
    if (!s.ok()) {
      return Fail(absl::StrContains(s.message(), "configuration has no")
                      ? ExitCode::EXIT_UNSUPPORTED
                      : ExitCode::EXIT_BAD_REQUEST,
                  s);
    }
  }
  auto events = conformance::EventWriter::Open(request->events());
  if (!events.ok()) return Fail(ExitCode::EXIT_BAD_REQUEST, events.status());

  CommandLine line;
  line.run_dir = request->run_folder();
  line.given = bed;
  if (request->resume() == v1::RunRequest::NEVER) {
    line.resume = "never";
  } else if (request->resume() == v1::RunRequest::REQUIRED) {
    line.resume = "required";
  }
  SessionHooks hooks;
  TesteeObserver observer(*request, *std::move(events));
  HoldingFileSystem files(FileSystem::Real(), [&observer](v1::Point point) {
    observer.ReachedInStore(point);
  });
  hooks.observer = &observer;
  hooks.file_system = &files;
  return RunSession(line, hooks);
}

int Main(int argc, char** argv) {
  const absl::string_view verb = argc > 1 ? argv[1] : "";
  const absl::string_view flag = argc == 3 ? argv[2] : "";
  if (verb == "describe" && absl::StartsWith(flag, "--out=")) {
    const absl::Status status =
        conformance::WriteDescription(std::string(flag.substr(6)), Describe());
    return status.ok() ? ExitCode::EXIT_DONE
                       : Fail(ExitCode::EXIT_BAD_REQUEST, status);
  }
  if (verb == "run" && absl::StartsWith(flag, "--request=")) {
    return Run(std::string(flag.substr(10)));
  }
  std::fprintf(stderr,
               "usage: testee describe --out=FILE | testee run "
               "--request=FILE\n");
  return ExitCode::EXIT_USAGE;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) { return reprise::Main(argc, argv); }
