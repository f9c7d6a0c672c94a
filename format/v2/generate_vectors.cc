// Writes the test vectors of format version 2:
//
//   bazel run //format/v2:generate_vectors              # into spec/vectors/v2
//   bazel run //format/v2:generate_vectors -- FOLDER
//
// Released vectors are never changed; new ones are added.
#include <cstdlib>
#include <iostream>
#include <string>

#include "format/io/file_system.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v2/vectors.h"

int main(int argc, char** argv) {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (argc > 2 || (argc == 1 && workspace == nullptr)) {
    std::cerr << "usage: generate_vectors FOLDER\n";
    return 1;
  }
  const std::string folder =
      argc == 2 ? argv[1] : reprise::JoinPath(workspace, "spec/vectors/v2");
  reprise::FileSystem* files = reprise::FileSystem::Real();
  const std::vector<reprise::VectorV2> vectors = reprise::VectorsOfV2();
  absl::Status status;
  for (const reprise::VectorV2& vector : vectors) {
    const std::string path = reprise::JoinPath(folder, vector.expected.path());
    status.Update(reprise::CreateFoldersDurably(files, path));
    for (const auto& [name, bytes] : vector.files) {
      if (!status.ok()) break;
      status = reprise::ReplaceFile(reprise::JoinPath(path, name), bytes);
    }
  }
  if (status.ok()) {
    status = reprise::ReplaceFile(reprise::JoinPath(folder, "expect.textproto"),
                                  reprise::ExpectationsOf(vectors));
  }
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << "wrote " << vectors.size() << " vectors to " << folder << "\n";
  return 0;
}
