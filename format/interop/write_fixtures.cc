// Writes the files that tools/parity/run.sh interop shows to Python, into the
// folder given: bazel run //format/interop:write_fixtures -- FOLDER
#include <iostream>
#include <string>

#include "format/interop/export_snapshot.h"
#include "format/interop/import_snapshot.h"
#include "format/interop/testing/describe_values.h"

namespace reprise {
namespace {

absl::Status Write(const std::string& path, const PyValue& root) {
  (void)FileSystem::Real()->Unlink(path);
  auto file = FileSystem::Real()->CreateExclusive(path, 0644);
  if (!file.ok()) return file.status();
  absl::Status status = WriteTorchFile(root, file->get());
  if (status.ok()) status = (*file)->Close();
  return status;
}

absl::Status WriteAllFixtures(const std::string& folder) {
  const auto everything =
      ReadTorchFile(FileSystem::Real(), FixturePath("everything.pt"));
  if (!everything.ok()) return everything.status();
  const absl::Status status = Write(JoinPath(folder, "written_by_reprise.pt"),
                                    *everything->document.root);
  if (!status.ok()) return status;
  const auto seed =
      ReadTorchFile(FileSystem::Real(), FixturePath("seed_example.pt"));
  if (!seed.ok()) return seed.status();
  const auto imported = ImportTorch(*seed, {});
  if (!imported.ok()) return imported.status();
  return Write(JoinPath(folder, "exported_seed_example.pt"),
               *ExportTorch(imported->snapshot).root);
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_fixtures FOLDER\n";
    return 1;
  }
  const absl::Status status = reprise::WriteAllFixtures(argv[1]);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 2;
}
