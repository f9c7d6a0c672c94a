#include "trainer/data/text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace reprise {
namespace {

constexpr char kLicences[] = "/usr/share/common-licenses";

struct Licence {
  const char* file;
  const char* digest;  // XXH3-128 of base-files 12.4, canonical, hexadecimal
};
constexpr Licence kTrain[] = {
    {"Apache-2.0", "509f90a9daa3ad6e182f5cce7d7d5588"},
    {"BSD", "1d5333e11a6658361830a998ab122c62"},
    {"CC0-1.0", "f915584e07d578a842fa7da0b8f7cd51"},
    {"GFDL-1.2", "27eefe989ceab27ed5c1bc118083f4e9"},
    {"GFDL-1.3", "2849e36722c7d376f886be24dcabe052"},
    {"GPL-1", "0de0e2288ee832f77da15f6658d83be0"},
    {"GPL-2", "445635c86205ac5626ffd8d23b61ee2f"},
    {"GPL-3", "ae6ea5d955361e9dd7d91f1432616dcc"},
    {"LGPL-2", "888528d74dc5c48d62e56cebe4c341bb"},
    {"LGPL-2.1", "ec08f6bc566cd528505244a6dedc6130"},
    {"LGPL-3", "b04128b9aa5edeadebf5e426f82d6779"},
    {"MPL-1.1", "447ca7f97d6da2b855746966318301a7"},
};
constexpr Licence kTest[] = {
    {"Artistic", "de9a4f419352ec9110278529213f2c58"},
    {"MPL-2.0", "120d72b684ffea6fdb6e891128586a52"},
};

constexpr char kOwnText[] =
    "name a folder with train.txt and test.txt (--data_dir) to train on text "
    "of your own";

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "rbe"),
                                             fclose);
  std::string bytes;
  if (file != nullptr) {
    char piece[65536];
    while (size_t found = fread(piece, 1, sizeof piece, file.get())) {
      bytes.append(piece, found);
    }
    if (!ferror(file.get())) return bytes;
  }
  const std::string message =
      absl::StrCat("text: ", path, ": ", std::strerror(errno));
  return errno == ENOENT
             ? absl::NotFoundError(absl::StrCat(message, "; ", kOwnText))
             : absl::UnavailableError(message);
}

std::string DigestOf(const std::string& bytes) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes.data(), bytes.size()));
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(digest.digest), sizeof digest.digest});
}

template <size_t N>
absl::StatusOr<std::string> ReadLicences(const Licence (&licences)[N]) {
  std::string text;
  for (const Licence& licence : licences) {
    const std::string path = absl::StrCat(kLicences, "/", licence.file);
    auto bytes = ReadFile(path);
    if (!bytes.ok()) return bytes.status();
    if (const std::string digest = DigestOf(*bytes); digest != licence.digest) {
      return absl::DataLossError(absl::StrCat(
          "text: ", path, ": expected the file of Debian 12 (XXH3-128 ",
          licence.digest, "), found one with ", digest,
          "; reinstall base-files, or ", kOwnText));
    }
    text += *bytes;
  }
  return text;
}

}  // namespace

absl::StatusOr<Dataset> LoadText(const std::string& folder, Split split,
                                 int64_t sequence_length, uint64_t limit) {
  if (sequence_length < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("text: expected sequences of at least 1 byte, found ",
                     sequence_length));
  }
  const bool train = split == Split::kTrain;
  const absl::StatusOr<std::string> text =
      !folder.empty()
          ? ReadFile(absl::StrCat(folder, train ? "/train.txt" : "/test.txt"))
          : (train ? ReadLicences(kTrain) : ReadLicences(kTest));
  if (!text.ok()) return text.status();

  // The last label is one byte beyond the last window.
  const int64_t windows =
      (static_cast<int64_t>(text->size()) - 1) / sequence_length;
  if (text->empty() || windows < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("text: expected more than ", sequence_length,
                     " bytes (data.sequence_length), found ", text->size(),
                     " to ", train ? "train" : "evaluate", " on"));
  }
  if (limit > static_cast<uint64_t>(windows)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "text: expected a limit of at most the ", windows, " sequences of ",
        sequence_length, " bytes, found ", limit));
  }
  Dataset data;
  data.name = "text";
  data.size = limit == 0 ? windows : static_cast<int64_t>(limit);
  data.classes = 256;
  data.sequence_length = sequence_length;
  data.text.assign(text->begin(),
                   text->begin() + data.size * sequence_length + 1);
  return data;
}

}  // namespace reprise
