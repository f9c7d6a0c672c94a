#include "format/interop/testing/describe_values.h"

#include <limits.h>
#include <stdlib.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/interop/torch_file.h"
#include "format/io/file_system.h"

namespace reprise {
namespace {

using Kind = PyValue::Kind;

std::string KeyText(const PyValue& key) {
  return key.kind == Kind::kInt ? absl::StrCat(key.integer) : key.text;
}

}  // namespace

std::string DescribeTensor(const Tensor& tensor, const std::string& path) {
  const size_t element = SizeOf(tensor.dtype());
  std::string rows;
  std::vector<int64_t> strides = tensor.strides();
  if (strides.empty()) {
    strides.assign(tensor.shape().size(), 1);
    for (size_t d = strides.size(); d-- > 1;) {
      strides[d - 1] = strides[d] * tensor.shape()[d];
    }
  }
  std::vector<int64_t> index(tensor.shape().size(), 0);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
    rows.append(static_cast<const char*>(tensor.data()) + at * element,
                element);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.shape()[d]) break;
      index[d] = 0;
    }
  }
  return absl::StrCat(path, " tensor ", Name(tensor.dtype()), " [",
                      absl::StrJoin(tensor.shape(), ","), "] ",
                      absl::BytesToHexString(rows), "\n");
}

std::string DescribeValues(const PyValue& value, const std::string& path) {
  switch (value.kind) {
    case Kind::kNone:
      return absl::StrCat(path, " none\n");
    case Kind::kBool:
      return absl::StrCat(path, " bool ", value.boolean ? 1 : 0, "\n");
    case Kind::kInt:
      return absl::StrCat(path, " int ", value.integer, "\n");
    case Kind::kUInt:
      return absl::StrCat(path, " int ", value.unsigned_integer, "\n");
    case Kind::kReal: {
      uint64_t bits = 0;
      std::memcpy(&bits, &value.real, sizeof(bits));
      return absl::StrCat(path, " real ", absl::Hex(bits, absl::kZeroPad16),
                          "\n");
    }
    case Kind::kText:
    case Kind::kBytes:
    case Kind::kGlobal:
      return absl::StrCat(path, " text ", value.text, "\n");
    case Kind::kDict: {
      std::string lines =
          absl::StrCat(path, " dict ", value.entries.size(), "\n");
      for (const auto& [key, item] : value.entries) {
        lines += DescribeValues(*item, absl::StrCat(path, "/", KeyText(*key)));
      }
      return lines;
    }
    case Kind::kList:
    case Kind::kTuple: {
      std::string lines =
          absl::StrCat(path, value.kind == Kind::kTuple ? " tuple " : " list ",
                       value.items.size(), "\n");
      for (size_t i = 0; i < value.items.size(); ++i) {
        lines += DescribeValues(*value.items[i], absl::StrCat(path, "/", i));
      }
      return lines;
    }
    case Kind::kObject:
      return DescribeTensor(*TensorOf(value), path);
  }
  return "";
}

std::string FixturePath(const std::string& name) {
  // Bazel lays links to the files, and links are refused.
  const std::string link = absl::StrCat("format/interop/fixtures/", name);
  char real[PATH_MAX];
  return realpath(link.c_str(), real) != nullptr ? real : link;
}

std::string ReadFixture(const std::string& name) {
  return ReadSmallFile(FileSystem::Real(), FixturePath(name), 1 << 20)
      .value_or("");
}

}  // namespace reprise
