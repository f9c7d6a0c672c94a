#include "trainer/checkpoint/next_loss.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "reprise/trainer/checkpoint/v1/next_step.pb.h"

namespace reprise {
namespace {

std::string Folder(const std::string& run_folder) {
  return absl::StrCat(run_folder, "/", kWitnessFolder);
}

std::string Path(const std::string& run_folder, const std::string& name) {
  return absl::StrCat(Folder(run_folder), "/", name, ".pb");
}

}  // namespace

absl::Status WriteNextLoss(const std::string& run_folder,
                           const std::string& name, const NextLoss& next) {
  trainer::checkpoint::v1::NextStep message;
  message.set_manifest_digest(next.manifest_digest);
  message.set_step(next.step);
  message.set_loss(next.loss);
  const std::string path = Path(run_folder, name);
  const std::string temporary = path + ".tmp";
  if (mkdir(Folder(run_folder).c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::UnavailableError(
        absl::StrCat(Folder(run_folder), ": ", std::strerror(errno)));
  }
  bool written = false;
  {
    std::ofstream out(temporary, std::ios::binary);
    out << message.SerializeAsString();
    out.close();
    written = out.good();
  }
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return absl::UnavailableError(
        absl::StrCat(path, ": ", std::strerror(error)));
  }
  return absl::OkStatus();
}

std::optional<float> ReadNextLoss(const std::string& run_folder,
                                  const std::string& name,
                                  const std::string& manifest_digest) {
  std::ifstream in(Path(run_folder, name), std::ios::binary);
  if (!in.good()) return std::nullopt;
  std::ostringstream bytes;
  bytes << in.rdbuf();
  trainer::checkpoint::v1::NextStep message;
  if (!message.ParseFromString(bytes.str()) || !message.has_loss() ||
      message.manifest_digest() != manifest_digest) {
    return std::nullopt;
  }
  return message.loss();
}

void RemoveNextLoss(const std::string& run_folder, const std::string& name) {
  unlink(Path(run_folder, name).c_str());
}

}  // namespace reprise
