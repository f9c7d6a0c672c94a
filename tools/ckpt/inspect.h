// A checkpoint as far as its manifest says, so that looking at a large one
// costs little. Thread-compatible.
#ifndef REPRISE_TOOLS_CKPT_INSPECT_H_
#define REPRISE_TOOLS_CKPT_INSPECT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/run_listing.h"
#include "format/snapshot.h"
#include "format/v2/checkpoint_reader.h"
#include "reprise/tools/ckpt/report.pb.h"

namespace reprise::ckpt {

struct Inspected {
  std::string path;  // of the checkpoint's folder
  ListedCheckpoint listed;
  // Every value. Of version 2, tensors have no data here.
  Snapshot snapshot;
  // Of version 2; null of version 1.
  std::unique_ptr<CheckpointReader> reader;
};

// Opens the checkpoint folder `path`, or the newest checkpoint of the run
// folder `path` that can be opened. The manifest is verified, and the sizes of
// shards are; bytes of tensors are not read (but those of version 1, which lie
// in the manifest). Errors and `passed_over`: as of ReadMeant (locate.h).
absl::StatusOr<Inspected> InspectMeant(const std::string& path,
                                       std::vector<std::string>* passed_over);

// Its tensors, sorted by item, name, part.
std::vector<TensorLine> TensorsOf(const Inspected& inspected);

// The tensor of that line, verified. Errors: CORRUPT, IO.
absl::StatusOr<Tensor> ReadOne(const Inspected& inspected,
                               const TensorLine& line);

// What `listed` says, as a line of a report.
CheckpointLine LineOf(const ListedCheckpoint& listed);

// ABSENT when `path` is no run folder with a checkpoint in it; as of
// CheckIsNoFile (locate.h).
absl::Status CheckIsRun(const std::string& path);

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_INSPECT_H_
