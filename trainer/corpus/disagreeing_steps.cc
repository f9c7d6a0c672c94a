// Makes the released file that a later migration must refuse: takes one applied
// step off the last parameter's optimizer counter in a checkpoint folder. The
// file stays whole and readable; no run can have written it.
#include <cstdio>
#include <string>

#include "format/testing/checkpoint_builder.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "disagreeing_steps: expected a checkpoint folder\n");
    return 1;
  }
  const absl::Status status = reprise::RewriteManifest(
      argv[1], [](reprise::checkpoint::v1::Checkpoint* message) {
        auto* states = message->mutable_optimizer()->mutable_states();
        auto* last = states->Mutable(states->size() - 1);
        last->set_step(last->step() - 1);
      });
  if (!status.ok()) {
    std::fprintf(stderr, "disagreeing_steps: %s\n",
                 std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
