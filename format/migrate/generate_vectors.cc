// Writes the test vectors of migrations:
//
//   bazel run //format/migrate:generate_vectors              # into
//   spec/vectors/migration bazel run //format/migrate:generate_vectors --
//   FOLDER
//
// Released vectors are never changed; new ones are added.
#include <cstdlib>
#include <iostream>
#include <string>

#include "format/io/file_system.h"
#include "format/migrate/vectors.h"
#include "format/testing/checkpoint_builder.h"

int main(int argc, char** argv) {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (argc > 2 || (argc == 1 && workspace == nullptr)) {
    std::cerr << "usage: generate_vectors FOLDER\n";
    return 1;
  }
  const std::string folder =
      argc == 2 ? argv[1]
                : reprise::JoinPath(workspace, "spec/vectors/migration");
  reprise::FileSystem* files = reprise::FileSystem::Real();
  const std::vector<reprise::MigrationVector> vectors =
      reprise::MigrationVectors();
  absl::Status status;
  for (const reprise::MigrationVector& vector : vectors) {
    for (const auto& [name, bytes] : vector.files) {
      const std::string path = reprise::JoinPath(
          folder, reprise::JoinPath(vector.expected.path(), name));
      if (status.ok()) {
        status =
            reprise::CreateFoldersDurably(files, reprise::ParentFolder(path));
      }
      if (status.ok()) status = reprise::ReplaceFile(path, bytes);
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
