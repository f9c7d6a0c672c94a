#include "format/migrate/vectors.h"

#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/envelope.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/migrate/migrate_checkpoint.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v1/codec.h"
#include "format/v2/save.h"

namespace reprise {
namespace {

constexpr char kBefore[] = "/before";
constexpr char kRun[] = "/run";

void AddFiles(UnsyncedFileSystem* memory, const std::string& folder,
              const std::string& name, TestVector* vector) {
  for (const FolderEntry& entry : OrDie(memory->List(folder))) {
    vector->files[JoinPath(name, entry.name)] =
        OrDie(FileContent(JoinPath(folder, entry.name), memory));
  }
}

// Migrates what lies in kBefore and writes down what comes of it.
TestVector Made(UnsyncedFileSystem* memory, const std::string& name,
                const std::string& rules, const std::string& rename,
                const std::string& text) {
  TestVector vector = MakeTestVector(name, rules, {});
  vector.expected.set_rename(rename);
  AddFiles(memory, kBefore, "before", &vector);
  MigrateOptions options;
  options.file_system = memory;
  options.threads = 1;
  if (!rename.empty()) {
    options.rename =
        std::make_shared<const RenameRules>(OrDie(RenameRules::Parse(rename)));
  }
  const absl::StatusOr<PlannedMigration> plan = PlanMigration(kBefore, options);
  if (!text.empty()) {
    if (plan.ok()) std::abort();
    vector.expected.mutable_refused()->set_refusal(RefusalOf(plan.status()));
    vector.expected.mutable_refused()->set_text(text);
    return vector;
  }
  OrDie(plan.status());
  OrDie(memory->CreateFolder(kRun));
  OrDie(WriteMigration(*plan, kRun, options).status());
  AddFiles(memory, JoinPath(kRun, plan->name), "after", &vector);
  const ManifestV2& after = *plan->result.v2;
  vectors::v1::Migrated* migrated = vector.expected.mutable_migrated();
  migrated->set_value_digest(absl::BytesToHexString(after.value_digest));
  for (const ItemRecord& record : after.snapshot.inventory) {
    vectors::v1::Record* out = migrated->add_record();
    out->set_item(record.item);
    out->set_presence(record.presence);
    out->set_reason(record.reason);
  }
  return vector;
}

TestVector FromV1File(const std::string& name, const std::string& rules,
                      const std::string& file, const std::string& text = "",
                      const std::string& rename = "") {
  UnsyncedFileSystem memory;
  OrDie(memory.CreateFolder(kBefore));
  OrDie(ReplaceFile(JoinPath(kBefore, "manifest.ckpt"), file, &memory));
  return Made(&memory, name, rules, rename, text);
}

TestVector FromV1(const std::string& name, const std::string& rules,
                  const Snapshot& snapshot, const std::string& text = "",
                  const std::string& rename = "") {
  const std::string manifest = OrDie(EncodeV1(snapshot));
  return FromV1File(name, rules, EncodeEnvelope(1, 0, manifest) + manifest,
                    text, rename);
}

TestVector RenamedV2Vector(const std::string& name, const Snapshot& snapshot,
                           const std::string& rename) {
  UnsyncedFileSystem memory;
  OrDie(memory.CreateFolder(kBefore));
  SaveV2Options options;
  options.threads = 1;
  OrDie(WriteV2(&memory, kBefore, OrDie(PlanV2(snapshot, options)), options)
            .status());
  return Made(&memory, name, "MIG-8 MIG-10 MIG-11", rename, "");
}

Snapshot Edited(uint64_t step, const std::function<void(Snapshot*)>& edit) {
  Snapshot snapshot = SmallSnapshot(step);
  edit(&snapshot);
  return snapshot;
}

void DropSchedule(Snapshot* s) {
  s->schedule.reset();
  for (Item item :
       {Item::SCHED_DEFINITION, Item::SCHED_POSITION, Item::SCHED_UNIT,
        Item::SCHED_HORIZON, Item::SCHED_BASE, Item::SCHED_APPLIED}) {
    s->MarkNotApplicable(item, "constant learning rate");
  }
}

void ToSgd(Snapshot* s) {
  s->optimizer->kind = "sgd";
  for (ParameterGroup& group : s->optimizer->groups) {
    group.beta1 = group.beta2 = group.eps = std::nullopt;
    group.momentum = group.dampening = 0;
    group.nesterov = false;
  }
  for (ParameterState& state : s->optimizer->states) state.moments.clear();
  s->MarkNotApplicable(Item::OPTIM_MOMENTS, "sgd without momentum keeps none");
}

void ForInference(Snapshot* s) {
  s->optimizer.reset();
  s->schedule.reset();
  s->scaler.reset();
  s->sampler.reset();
  s->generators.clear();
  for (const ItemRecord& record : std::vector<ItemRecord>(s->inventory)) {
    switch (record.item) {
      case Item::MODEL_PARAMS:
      case Item::MODEL_BUFFERS:
      case Item::MODE:
      case Item::COUNTERS_STEP:
      case Item::CONFIG:
      case Item::CLIP:
      case Item::ENVIRONMENT:
      case Item::PRECISION_FLAGS:
        break;
      default:
        s->MarkOmitted(record.item, "exported for inference");
    }
  }
}

std::vector<TestVector> ValidVectors() {
  const std::string later =
      OrDie(EncodeV1(SmallSnapshot(60))) + std::string("\x9a\x06\x03new", 6);
  return {
      FromV1("small", "MIG-2 MIG-3 MIG-4 MIG-8", SmallSnapshot(60)),
      FromV1("nothing_applied_yet", "MIG-5", SmallSnapshot(0)),
      FromV1("skipped_steps", "MIG-5",
             Edited(60,
                    [](Snapshot* s) {
                      s->schedule->position = 57;
                      for (auto& state : s->optimizer->states) state.step = 57;
                    })),
      FromV1("parameter_without_a_step", "MIG-5",
             Edited(60,
                    [](Snapshot* s) {
                      s->optimizer->states[1].step = 0;
                      s->optimizer->states[1].moments.clear();
                    })),
      FromV1("applied_steps_unknown", "MIG-5",
             Edited(60,
                    [](Snapshot* s) {
                      s->schedule->unit = ScheduleState::Unit::kSamples;
                      s->MarkOmitted(Item::OPTIM_STEP, "lost");
                      for (auto& state : s->optimizer->states) state.step = 0;
                    })),
      FromV1("no_schedule", "MIG-4", Edited(60, DropSchedule)),
      FromV1("sgd_without_momentum", "MIG-5", Edited(60, ToSgd)),
      FromV1("streams_not_applicable", "MIG-4",
             Edited(60,
                    [](Snapshot* s) {
                      s->MarkNotApplicable(Item::RNG_DATA, "counter-based");
                    })),
      FromV1("no_clip", "MIG-4",
             Edited(60,
                    [](Snapshot* s) {
                      s->MarkNotApplicable(Item::CLIP, "not clipped");
                    })),
      FromV1("resumed", "MIG-6",
             Edited(60,
                    [](Snapshot* s) {
                      s->attempt = 2;
                      s->parent = ParentRef{50, "fedcba9876543210"};
                    })),
      FromV1(
          "lists_in_another_order", "MIG-4",
          Edited(60,
                 [](Snapshot* s) {
                   std::swap(s->config[0], s->config[1]);
                   std::swap(s->optimizer->states[0], s->optimizer->states[1]);
                   s->config[0].rule = ResumeRule::RECORDED;
                   s->generators.insert(s->generators.begin(),
                                        {"cuda:1", "philox", "lib", "one"});
                   s->generators.push_back({"cuda:0", "philox", "lib", "zero"});
                   s->MarkSaved(Item::RNG_CUDA);
                 })),
      FromV1("inference_only", "MIG-2 MIG-3", Edited(60, ForInference)),
      FromV1File("later_minor", "MIG-7", EncodeEnvelope(1, 7, later) + later),
      FromV1("renamed", "MIG-10", SmallSnapshot(60), "", "^fc\\. -> head."),
      RenamedV2Vector("renamed_tied", FullSnapshot(60),
                      "^embed\\. -> zebra.\n^(fc|norm)\\. -> \\1.x."),
      RenamedV2Vector("renamed_in_step", FullSnapshotInStep(60, 2),
                      "^ -> model."),
  };
}

std::vector<TestVector> RefusedVectors() {
  return {
      FromV1("optimizer_steps_disagree", "MIG-5",
             Edited(60, [](Snapshot* s) { s->optimizer->states[1].step = 59; }),
             "optim.step"),
      FromV1("schedule_and_optimizer_disagree", "MIG-5",
             Edited(60, [](Snapshot* s) { s->schedule->position = 59; }),
             "optim.step"),
      FromV1("more_applied_than_attempted", "MIG-5",
             Edited(60,
                    [](Snapshot* s) {
                      s->schedule->position = 61;
                      for (auto& state : s->optimizer->states) state.step = 61;
                    }),
             "optim.step"),
      FromV1(
          "generator_of_no_number", "MIG-9",
          Edited(
              60,
              [](Snapshot* s) {
                s->generators.push_back({"cuda:01", "philox", "lib", "state"});
                s->MarkSaved(Item::RNG_CUDA);
              }),
          "cuda:01"),
  };
}

}  // namespace

std::vector<TestVector> MigrationVectors() {
  return Joined({ValidVectors(), RefusedVectors()});
}

}  // namespace reprise
