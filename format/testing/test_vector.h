// The committed test vectors (spec/vectors/README.md): a folder each, with what
// a reader says in expect.textproto.
#ifndef REPRISE_FORMAT_TESTING_TEST_VECTOR_H_
#define REPRISE_FORMAT_TESTING_TEST_VECTOR_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/snapshot.h"
#include "reprise/spec/vectors/expect.pb.h"

namespace reprise {

// The folder with the checkpoint, in that of a vector that is read.
constexpr char kVectorCheckpoint[] = "checkpoint";

struct TestVector {
  // Folder below that of all such vectors: "valid/smallest".
  std::string path;
  vectors::v1::Vector expected;
  // Every other file, by its path below that folder:
  // "checkpoint/manifest.ckpt".
  std::map<std::string, std::string> files;
};

// With `rules`, which a space separates, and the files of a checkpoint.
TestVector MakeTestVector(const std::string& path, absl::string_view rules,
                          const std::map<std::string, std::string>& checkpoint);

// Says that `snapshot` is read, with step and tensors and without digests of
// the whole.
void ExpectSnapshot(const Snapshot& snapshot, vectors::v1::Valid* valid);

// Expects that `status` refuses with that name, and with that text in it.
void CheckRefused(const absl::Status& status,
                  const vectors::v1::Refused& expected);

// The value; ends the process with the error when there is none, as a vector
// that cannot be made is a mistake in its generator.
template <typename T>
T OrDie(absl::StatusOr<T> value);
void OrDie(const absl::Status& status);

// All of a list of lists.
std::vector<TestVector> Joined(std::vector<std::vector<TestVector>> parts);

// `main` of a generator: writes `vectors` below the folder that is the only
// argument, or else below `folder` of the workspace. Returns the exit code.
int GenerateVectors(int argc, char** argv, const std::string& folder,
                    const std::vector<TestVector>& vectors);

// A file of the source tree. A test sees it as a symbolic link, which the
// library's own reading refuses.
std::string SourceFile(const std::string& path);

// A copy, called `name`, of a folder of the source tree as regular files.
std::string CopyOfSourceFolder(const std::string& path,
                               const std::string& name = kVectorCheckpoint);

// What the expect.textproto files below `folder` say, by the path below it.
std::map<std::string, vectors::v1::Vector> CommittedExpectations(
    const std::string& folder);

// What is other below `folder` of the source tree, a line each: files that are
// not what `vectors` says, and files that none has. `others` are no vectors.
std::string CommittedDifference(const std::string& folder,
                                const std::vector<TestVector>& vectors,
                                const std::vector<std::string>& others = {});

// The rules that the vectors below `folder` name and spec/SPEC.md lacks.
std::vector<std::string> UnspecifiedRules(const std::string& folder);

[[noreturn]] void DieOf(const absl::Status& status);

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) DieOf(value.status());
  return *std::move(value);
}

}  // namespace reprise

#endif  // REPRISE_FORMAT_TESTING_TEST_VECTOR_H_
