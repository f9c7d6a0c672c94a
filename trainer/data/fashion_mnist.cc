#include "trainer/data/fashion_mnist.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tools/cpp/runfiles/runfiles.h"
#include "trainer/data/idx_file.h"

namespace reprise {
namespace {

using ::bazel::tools::cpp::runfiles::Runfiles;

constexpr int64_t kSide = 28;
constexpr int64_t kClasses = 10;
constexpr char kAnyFile[] = "train-images-idx3-ubyte.gz";
constexpr char kInstalled[] = "/usr/share/datasets/fashion-mnist";

// This program's own file: what Bazel puts its runfiles beside.
std::string ProgramPath() {
  std::string path(4096, '\0');
  ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? length : 0);
  return path;
}

absl::Status WrongShape(const std::string& path, absl::string_view expected,
                        const std::vector<int64_t>& found) {
  return absl::DataLossError(absl::StrCat(path, ": expected ", expected,
                                          ", found shape [",
                                          absl::StrJoin(found, ", "), "]"));
}

}  // namespace

absl::StatusOr<std::string> FindFashionMnist(const std::string& folder) {
  std::vector<std::string> places;
  if (!folder.empty()) {
    places = {folder};
  } else {
    std::string error;
    std::unique_ptr<Runfiles> runfiles(Runfiles::Create(ProgramPath(), &error));
    if (runfiles != nullptr) {
      std::string file =
          runfiles->Rlocation(absl::StrCat("fashion_mnist/", kAnyFile));
      places.push_back(file.substr(0, file.rfind('/')));
    }
    places.push_back(kInstalled);
  }
  for (const std::string& place : places) {
    if (access(absl::StrCat(place, "/", kAnyFile).c_str(), F_OK) == 0) {
      return place;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "Fashion-MNIST: no ", kAnyFile, " in ", absl::StrJoin(places, " or "),
      folder.empty()
          ? "; install dataset-fashion-mnist or name the folder of the files"
          : ""));
}

absl::StatusOr<Dataset> LoadFashionMnist(const std::string& folder, Split split,
                                         uint64_t limit) {
  absl::StatusOr<std::string> place = FindFashionMnist(folder);
  if (!place.ok()) return place.status();
  std::string prefix =
      absl::StrCat(*place, "/", split == Split::kTrain ? "train" : "t10k");
  std::string images_path = absl::StrCat(prefix, "-images-idx3-ubyte.gz");
  std::string labels_path = absl::StrCat(prefix, "-labels-idx1-ubyte.gz");

  absl::StatusOr<IdxArray> images = ReadIdx(images_path, 3);
  if (!images.ok()) return images.status();
  absl::StatusOr<IdxArray> labels = ReadIdx(labels_path, 1);
  if (!labels.ok()) return labels.status();

  int64_t size = images->shape[0];
  if (size < 1 || images->shape[1] != kSide || images->shape[2] != kSide) {
    return WrongShape(images_path, "images of 28 x 28", images->shape);
  }
  if (labels->shape[0] != size) {
    return WrongShape(
        labels_path, absl::StrCat(size, " labels, as many as there are images"),
        labels->shape);
  }
  for (int64_t i = 0; i < size; ++i) {
    if (labels->elements[i] >= kClasses) {
      return absl::DataLossError(
          absl::StrCat(labels_path, ": expected labels of 0 to 9, found ",
                       labels->elements[i], " for sample ", i));
    }
  }
  if (limit > static_cast<uint64_t>(size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Fashion-MNIST: expected a limit of at most the ", size,
                     " samples of ", images_path, ", found ", limit));
  }

  Dataset data;
  data.name = "fashion_mnist";
  data.size = limit == 0 ? size : static_cast<int64_t>(limit);
  data.channels = 1;
  data.height = kSide;
  data.width = kSide;
  data.classes = kClasses;
  data.images = std::move(images->elements);
  data.images.resize(data.size * data.image_bytes());
  data.images.shrink_to_fit();
  data.labels = std::move(labels->elements);
  data.labels.resize(data.size);
  return data;
}

}  // namespace reprise
