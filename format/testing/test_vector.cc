#include "format/testing/test_vector.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "format/digest/chunk_digest.h"
#include "format/io/file_system.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v2/tensor_list.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr char kExpectation[] = "expect.textproto";

std::string ExpectationText(const vectors::v1::Vector& expected) {
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(expected, &text)) {
    std::abort();
  }
  return absl::StrCat(
      "# proto-file: spec/vectors/expect.proto\n"
      "# proto-message: reprise.vectors.v1.Vector\n",
      text);
}

// Every file of the vectors, by its path.
std::map<std::string, std::string> FilesOf(
    const std::vector<TestVector>& vectors) {
  std::map<std::string, std::string> files;
  for (const TestVector& vector : vectors) {
    auto add = [&](const std::string& name, const std::string& bytes) {
      // Two vectors of one name are a mistake in the generator.
      if (!files.emplace(JoinPath(vector.path, name), bytes).second) {
        std::cerr << vector.path << " comes twice\n";
        std::abort();
      }
    };
    add(kExpectation, ExpectationText(vector.expected));
    for (const auto& [name, bytes] : vector.files) add(name, bytes);
  }
  return files;
}

// Paths of all files below a folder of the source tree.
std::set<std::string> CommittedFiles(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) {
      paths.insert(entry.path().lexically_relative(folder));
    }
  }
  return paths;
}

}  // namespace

void DieOf(const absl::Status& status) {
  std::cerr << status << "\n";
  std::abort();
}

void OrDie(const absl::Status& status) {
  if (!status.ok()) DieOf(status);
}

TestVector MakeTestVector(
    const std::string& path, absl::string_view rules,
    const std::map<std::string, std::string>& checkpoint) {
  TestVector vector;
  vector.path = path;
  for (absl::string_view rule : absl::StrSplit(rules, ' ')) {
    vector.expected.add_rule(std::string(rule));
  }
  for (const auto& [name, bytes] : checkpoint) {
    vector.files[JoinPath(kVectorCheckpoint, name)] = bytes;
  }
  return vector;
}

void CheckRefused(const absl::Status& status,
                  const vectors::v1::Refused& expected) {
  EXPECT_EQ(TextOf(RefusalOf(status)), TextOf(expected.refusal())) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), expected.text()))
      << status << "\nexpected in it: " << expected.text();
}

void ExpectSnapshot(const Snapshot& snapshot, vectors::v1::Valid* valid) {
  valid->set_step(snapshot.step);
  valid->set_micro_step(snapshot.micro_step());
  for (const ListedTensor& listed : ListTensors(snapshot)) {
    const Tensor& tensor = *listed.tensor;
    vectors::v1::Tensor* out = valid->add_tensor();
    out->set_item(listed.item);
    out->set_name(listed.name);
    out->set_part(listed.part);
    out->set_dtype(std::string(Name(tensor.dtype())));
    for (int64_t extent : tensor.shape()) out->add_shape(extent);
    out->set_head(absl::BytesToHexString(tensor.bytes().substr(0, 16)));
    out->set_root_digest(absl::BytesToHexString(
        RootDigest(tensor.bytes().size(), ChunkDigests(tensor.bytes()))));
  }
}

std::vector<TestVector> Joined(std::vector<std::vector<TestVector>> parts) {
  std::vector<TestVector> vectors;
  for (std::vector<TestVector>& part : parts) {
    for (TestVector& vector : part) vectors.push_back(std::move(vector));
  }
  return vectors;
}

int GenerateVectors(int argc, char** argv, const std::string& folder,
                    const std::vector<TestVector>& vectors) {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (argc > 2 || (argc == 1 && workspace == nullptr)) {
    std::cerr << "usage: generate_vectors FOLDER\n";
    return 1;
  }
  const std::string root = argc == 2 ? argv[1] : JoinPath(workspace, folder);
  absl::Status status;
  for (const auto& [name, bytes] : FilesOf(vectors)) {
    const std::string path = JoinPath(root, name);
    status.Update(CreateFoldersDurably(FileSystem::Real(), ParentFolder(path)));
    if (status.ok()) status = ReplaceFile(path, bytes);
  }
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << "wrote " << vectors.size() << " vectors to " << root << "\n";
  return 0;
}

std::string SourceFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string CopyOfSourceFolder(const std::string& path,
                               const std::string& name) {
  const std::string copy = JoinPath(FreshTestFolder(), name);
  EXPECT_TRUE(CreateFoldersDurably(FileSystem::Real(), copy).ok());
  for (const std::string& file : CommittedFiles(path)) {
    EXPECT_TRUE(
        ReplaceFile(JoinPath(copy, file), SourceFile(JoinPath(path, file)))
            .ok());
  }
  return copy;
}

std::map<std::string, vectors::v1::Vector> CommittedExpectations(
    const std::string& folder) {
  std::map<std::string, vectors::v1::Vector> expectations;
  for (const std::string& path : CommittedFiles(folder)) {
    if (!absl::EndsWith(path, kExpectation)) continue;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        SourceFile(JoinPath(folder, path)), &expectations[ParentFolder(path)]))
        << path;
  }
  return expectations;
}

std::string CommittedDifference(const std::string& folder,
                                const std::vector<TestVector>& vectors,
                                const std::vector<std::string>& others) {
  std::set<std::string> found = CommittedFiles(folder);
  for (const std::string& other : others) found.erase(other);
  std::string difference;
  for (const auto& [path, bytes] : FilesOf(vectors)) {
    if (found.erase(path) == 0) {
      absl::StrAppend(&difference, path, " is not there\n");
    } else if (SourceFile(JoinPath(folder, path)) != bytes) {
      absl::StrAppend(&difference, path, " has other bytes\n");
    }
  }
  for (const std::string& path : found) {
    absl::StrAppend(&difference, path, " is of no vector\n");
  }
  return difference;
}

std::vector<std::string> UnspecifiedRules(const std::string& folder) {
  const std::string spec = SourceFile("spec/SPEC.md");
  std::vector<std::string> missing;
  for (const auto& [path, expected] : CommittedExpectations(folder)) {
    for (const std::string& rule : expected.rule()) {
      if (!absl::StrContains(spec, absl::StrCat("**", rule, "**"))) {
        missing.push_back(absl::StrCat(path, ": ", rule));
      }
    }
  }
  return missing;
}

}  // namespace reprise
