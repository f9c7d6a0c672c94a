#include "format/v1/vectors.h"

#include <cstdlib>
#include <functional>
#include <utility>

#include "absl/strings/escaping.h"
#include "format/envelope.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"

namespace reprise {
namespace {

namespace v1 = ::reprise::checkpoint::v1;

constexpr char kFolder[] = "/vector";
constexpr Refusal kValid = vocab::REFUSAL_UNSPECIFIED;

struct Row {
  // Folder below spec/vectors/v1.
  std::string path;
  Refusal outcome = kValid;
  // Rules of spec/SPEC.md that decide it.
  std::string rules;
  // Part of the message of the refusal.
  std::string text;
  // Of the manifest file, which is all there is.
  std::string bytes;
};

std::string Manifest(const Snapshot& snapshot) {
  return OrDie(EncodeV1(snapshot));
}

std::string File(const std::string& manifest) {
  return EncodeEnvelope(1, 0, manifest) + manifest;
}

// A file with the right checksums whose message was changed.
std::string Edited(const std::function<void(v1::Checkpoint*)>& edit) {
  v1::Checkpoint message;
  if (!message.ParseFromString(Manifest(SmallSnapshot(60)))) std::abort();
  edit(&message);
  return File(message.SerializeAsString());
}

std::string FlippedBit(std::string file, size_t offset) {
  file[offset] ^= 1;
  return file;
}

Snapshot OddTensors() {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.buffers = {
      BytesTensor("scalar", DType::kI64, {}, std::string(8, '\x11')),
      BytesTensor("nothing", DType::kF64, {3, 0, 2}, ""),
      BytesTensor("nan with payload, -0, denormal", DType::kF32, {3},
                  std::string("\x45\x23\xc1\x7f\0\0\0\x80\1\0\0\0", 12)),
      BytesTensor("bf16", DType::kBF16, {2}, std::string("\x80\x3f\0\xc0", 4)),
      BytesTensor("bool", DType::kBool, {2}, std::string("\0\1", 2)),
      BytesTensor("\xe5\xb1\xa4", DType::kU8, {1}, "x"),
  };
  return snapshot;
}

Snapshot InferenceOnly() {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.optimizer.reset();
  snapshot.schedule.reset();
  snapshot.scaler.reset();
  snapshot.sampler.reset();
  snapshot.generators.clear();
  for (const ItemRecord& record : std::vector<ItemRecord>(snapshot.inventory)) {
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
        snapshot.MarkOmitted(record.item, "exported for inference");
    }
  }
  return snapshot;
}

std::vector<Row> ValidVectors() {
  Snapshot resumed = SmallSnapshot(60);
  resumed.attempt = 2;
  resumed.parent = ParentRef{50, "fedcba9876543210"};
  Snapshot epoch_end = SmallSnapshot(100);
  Snapshot largest_cursor = SmallSnapshot(60);
  // 2^64 - 6: the last whole batch below 2^64.
  largest_cursor.sampler->cursor = 18446744073709551610u;
  return {
      {"valid/small", kValid, "ENV-1 ITEM-1", "",
       File(Manifest(SmallSnapshot(60)))},
      {"valid/nothing_applied_yet", kValid, "ITEM-6 OPT-4", "",
       File(Manifest(SmallSnapshot(0)))},
      {"valid/resumed", kValid, "RUN-3", "", File(Manifest(resumed))},
      {"valid/epoch_end", kValid, "DATA-2", "", File(Manifest(epoch_end))},
      {"valid/largest_cursor", kValid, "DATA-2", "",
       File(Manifest(largest_cursor))},
      {"valid/odd_tensors", kValid, "TEN-1 TEN-5", "",
       File(Manifest(OddTensors()))},
      {"valid/inference_only", kValid, "ITEM-5", "",
       File(Manifest(InferenceOnly()))},
      {"valid/later_minor", kValid, "ENV-8", "",
       [] {
         const std::string manifest =
             Manifest(SmallSnapshot(60)) + std::string("\x9a\x06\x03new", 6);
         return EncodeEnvelope(1, 7, manifest) + manifest;
       }()},
  };
}

std::vector<Row> EnvelopeVectors() {
  const std::string small = File(Manifest(SmallSnapshot(60)));
  Envelope future;
  // Far beyond: a vector must not become readable with the next version.
  future.major = 1000;
  future.manifest_length = 3;
  Envelope hostile;
  hostile.major = 1;
  hostile.manifest_length = uint64_t{1} << 63;
  std::string text_mode = small;
  text_mode.erase(4, 1);
  return {
      {"invalid/empty_file", Refusal::TRUNCATED, "ENV-3", "the file is empty",
       ""},
      {"invalid/half_an_envelope", Refusal::TRUNCATED, "ENV-3", "found 24",
       small.substr(0, 24)},
      {"invalid/half_a_manifest", Refusal::TRUNCATED, "ENV-10", "found 1000",
       small.substr(0, 1000)},
      {"invalid/byte_appended", Refusal::CORRUPT, "ENV-11",
       "1 bytes after the manifest", small + '\0'},
      {"invalid/magic_bit", Refusal::CORRUPT, "ENV-5", "magic damaged",
       FlippedBit(small, 1)},
      {"invalid/text_mode", Refusal::CORRUPT, "ENV-5", "text-mode", text_mode},
      {"invalid/envelope_length_bit", Refusal::CORRUPT, "ENV-6",
       "envelope length: expected 48, found 49", FlippedBit(small, 8)},
      {"invalid/version_bit", Refusal::CORRUPT, "ENV-7", "envelope CRC-32",
       FlippedBit(small, 12)},
      {"invalid/crc_bit", Refusal::CORRUPT, "ENV-7", "envelope CRC-32",
       FlippedBit(small, 47)},
      {"invalid/manifest_bit", Refusal::CORRUPT, "ENV-12", "manifest digest",
       FlippedBit(small, 700)},
      {"invalid/newer_major", Refusal::TOO_NEW, "ENV-8",
       "format version 1000.0", EncodeEnvelope(future) + "new"},
      {"invalid/major_0", Refusal::CORRUPT, "ENV-8", "major 0",
       EncodeEnvelope(0, 0, "")},
      {"invalid/hostile_length", Refusal::LIMIT, "ENV-9",
       "manifest length 9223372036854775808", EncodeEnvelope(hostile)},
      {"invalid/zip", Refusal::NOT_A_CHECKPOINT, "ENV-4", "zip archive",
       "PK\x03\x04 and so on"},
      {"invalid/pickle", Refusal::NOT_A_CHECKPOINT, "ENV-4", "pickle",
       "\x80\x02}q."},
      {"invalid/zeros", Refusal::NOT_A_CHECKPOINT, "ENV-4",
       "never reached the disk", std::string(64, '\0')},
  };
}

std::vector<Row> ManifestVectors() {
  return {
      // The hex dump of spec/SPEC.md.
      {"invalid/smallest_envelope", Refusal::MISSING_ITEM, "RUN-1",
       "counters.step", File("")},
      {"invalid/not_a_message", Refusal::CORRUPT, "WIRE-1", "wire type",
       File("not a message")},
      {"invalid/unknown_field", Refusal::CORRUPT, "WIRE-4", "field 99",
       File(Manifest(SmallSnapshot(60)) + std::string("\x9a\x06\x03new", 6))},
      {"invalid/field_twice", Refusal::CORRUPT, "WIRE-3", "comes twice",
       File(Manifest(SmallSnapshot(60)) + "\x10\x3c")},
      {"invalid/growth_tracker_absent", Refusal::MISSING_ITEM, "ITEM-4",
       "scaler.growth_tracker",
       Edited([](auto* m) { m->mutable_scaler()->clear_growth_tracker(); })},
      {"invalid/moments_absent", Refusal::MISSING_ITEM, "OPT-4",
       "optim.moments", Edited([](auto* m) {
         for (auto& state : *m->mutable_optimizer()->mutable_states()) {
           state.clear_moments();
         }
       })},
      {"invalid/no_record", Refusal::MISSING_ITEM, "ITEM-1", "environment",
       Edited([](auto* m) { m->mutable_inventory()->RemoveLast(); })},
      {"invalid/not_applicable_with_data", Refusal::INVALID_VALUE, "ITEM-5",
       "model.buffers", Edited([](auto* m) {
         auto* record = RecordOf(m, Item::MODEL_BUFFERS);
         record->set_presence(Presence::PRESENCE_NOT_APPLICABLE);
         record->set_reason("none");
       })},
      {"invalid/item_of_an_earlier_step", Refusal::INVALID_VALUE, "ITEM-3",
       "as of step 59", Edited([](auto* m) {
         RecordOf(m, Item::SCHED_POSITION)->set_as_of_step(59);
       })},
      {"invalid/scale_zero", Refusal::INVALID_VALUE, "SCAL-1", "scale 0",
       Edited([](auto* m) { m->mutable_scaler()->set_scale(0); })},
      {"invalid/tracker_at_interval", Refusal::INVALID_VALUE, "SCAL-2",
       "growth interval 20, found 20",
       Edited([](auto* m) { m->mutable_scaler()->set_growth_tracker(20); })},
      {"invalid/two_tensors_of_one_name", Refusal::INVALID_VALUE, "TEN-3",
       "two tensors are called fc.weight", Edited([](auto* m) {
         *m->mutable_model()->add_parameters() = m->model().parameters(0);
       })},
      {"invalid/unknown_dtype", Refusal::INVALID_VALUE, "TEN-1",
       "fc.weight: dtype 99", Edited([](auto* m) {
         m->mutable_model()->mutable_parameters(0)->set_dtype(
             static_cast<v1::DType>(99));
       })},
      {"invalid/tensor_too_short", Refusal::CORRUPT, "TEN-2",
       "expected 24 bytes by its shape, found 3", Edited([](auto* m) {
         m->mutable_model()->mutable_parameters(0)->set_data("abc");
       })},
      {"invalid/shape_overflow", Refusal::LIMIT, "TEN-2", "2^63 - 1",
       Edited([](auto* m) {
         auto* tensor = m->mutable_model()->mutable_parameters(0);
         tensor->add_shape(uint64_t{1} << 62);
         tensor->add_shape(uint64_t{1} << 62);
       })},
      {"invalid/batch_beyond_the_epoch", Refusal::INVALID_VALUE, "DATA-2",
       "batch index 100 in an epoch of 100",
       Edited([](auto* m) { m->mutable_sampler()->set_batch_index(100); })},
      {"invalid/cursor_beyond_2_64", Refusal::INVALID_VALUE, "DATA-2",
       "sampler.cursor", Edited([](auto* m) {
         m->mutable_sampler()->set_epoch(18446744073709551u);
         m->mutable_sampler()->set_batch_index(62);
       })},
      {"invalid/no_initialisation", Refusal::MISSING_ITEM, "ITEM-4",
       "model.initialisation",
       Edited([](auto* m) { m->mutable_model()->clear_initialisation(); })},
      {"invalid/empty_after_applied_steps", Refusal::MISSING_ITEM, "ITEM-6",
       "EMPTY after 60 applied steps", Edited([](auto* m) {
         for (Item item : {Item::OPTIM_MOMENTS, Item::OPTIM_STEP}) {
           RecordOf(m, item)->set_presence(Presence::PRESENCE_EMPTY);
         }
         m->mutable_optimizer()->clear_states();
       })},
      {"invalid/parameter_in_two_groups", Refusal::INVALID_VALUE, "OPT-2",
       "in the groups twice", Edited([](auto* m) {
         m->mutable_optimizer()->mutable_groups(1)->add_parameters("fc.weight");
       })},
  };
}

// The snapshot and value digest that the library reads from the row's file.
void ExpectWhatIsRead(const Row& row, vectors::v1::Valid* valid) {
  UnsyncedFileSystem memory;
  OrDie(memory.CreateFolder(kFolder));
  OrDie(ReplaceFile(JoinPath(kFolder, kManifestName), row.bytes, &memory));
  ExpectSnapshot(OrDie(ReadAsStored(kFolder, &memory)).snapshot, valid);
  valid->set_value_digest(absl::BytesToHexString(
      OrDie(ReadCheckpoint(kFolder, &memory)).value_digest));
}

}  // namespace

std::vector<TestVector> VectorsOfV1() {
  std::vector<TestVector> vectors;
  for (const std::vector<Row>& part :
       {ValidVectors(), EnvelopeVectors(), ManifestVectors()}) {
    for (const Row& row : part) {
      TestVector vector =
          MakeTestVector(row.path, row.rules, {{kManifestName, row.bytes}});
      if (row.outcome == kValid) {
        ExpectWhatIsRead(row, vector.expected.mutable_valid());
      } else {
        vector.expected.mutable_refused()->set_refusal(row.outcome);
        vector.expected.mutable_refused()->set_text(row.text);
      }
      vectors.push_back(std::move(vector));
    }
  }
  return vectors;
}

}  // namespace reprise
