// Writes the test vectors of format version 1:
//
//   bazel run //format/v1:generate_vectors              # into spec/vectors/v1
//   bazel run //format/v1:generate_vectors -- FOLDER
//
// Released vectors are never changed; new ones are added.
#include <cstdlib>
#include <iostream>
#include <string>

#include "format/io/file_system.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/vectors.h"

int main(int argc, char** argv) {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (argc > 2 || (argc == 1 && workspace == nullptr)) {
    std::cerr << "usage: generate_vectors FOLDER\n";
    return 1;
  }
  const std::string folder =
      argc == 2 ? argv[1] : reprise::JoinPath(workspace, "spec/vectors/v1");
  reprise::FileSystem* files = reprise::FileSystem::Real();
  const std::vector<reprise::Vector> vectors = reprise::VectorsOfV1();
  absl::Status status;
  for (const reprise::Vector& vector : vectors) {
    const std::string path = reprise::JoinPath(folder, vector.file);
    status.Update(
        reprise::CreateFoldersDurably(files, reprise::ParentFolder(path)));
    if (status.ok()) status = reprise::ReplaceFile(path, vector.bytes);
  }
  if (status.ok()) {
    status = reprise::ReplaceFile(reprise::JoinPath(folder, "index.tsv"),
                                  reprise::IndexOf(vectors));
  }
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << "wrote " << vectors.size() << " vectors to " << folder << "\n";
  return 0;
}
