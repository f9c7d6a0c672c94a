#include "format/interop/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/foreign_file.h"
#include "format/little_endian.h"
#include "format/refusal.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace reprise {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr uint64_t kMaxHeader = uint64_t{16} << 20;
constexpr absl::string_view kMetadata = "__metadata__";

struct TypeName {
  DType dtype;
  absl::string_view text;
};

constexpr TypeName kNames[] = {
    {DType::kF64, "F64"},        {DType::kF32, "F32"},
    {DType::kF16, "F16"},        {DType::kBF16, "BF16"},
    {DType::kI64, "I64"},        {DType::kU64, "U64"},
    {DType::kI32, "I32"},        {DType::kU32, "U32"},
    {DType::kI16, "I16"},        {DType::kU16, "U16"},
    {DType::kI8, "I8"},          {DType::kU8, "U8"},
    {DType::kBool, "BOOL"},      {DType::kF8E4M3FN, "F8_E4M3"},
    {DType::kF8E5M2, "F8_E5M2"}, {DType::kC64, "C64"},
};

absl::Status Corrupt(absl::string_view message) {
  return MakeRefusal(Refusal::CORRUPT, message);
}

// A non-negative integer that a double holds exactly.
bool AsCount(const Value& value, uint64_t* count) {
  const double number = value.number_value();
  if (value.kind_case() != Value::kNumberValue || !(number >= 0) ||
      number > 0x1p53 || std::floor(number) != number) {
    return false;
  }
  *count = static_cast<uint64_t>(number);
  return true;
}

struct Place {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

absl::StatusOr<Place> ReadPlace(const std::string& name, const Value& value) {
  Place place;
  place.name = name;
  const auto& fields = value.struct_value().fields();
  auto dtype = fields.find("dtype");
  auto shape = fields.find("shape");
  auto offsets = fields.find("data_offsets");
  if (dtype == fields.end() || shape == fields.end() ||
      offsets == fields.end() || fields.size() != 3) {
    return Corrupt("expected dtype, shape and data_offsets");
  }
  const TypeName* known = std::find_if(
      std::begin(kNames), std::end(kNames), [&](const TypeName& candidate) {
        return candidate.text == dtype->second.string_value();
      });
  if (known == std::end(kNames)) {
    return absl::UnimplementedError(absl::StrCat(
        "element type \"", dtype->second.string_value(), "\" is not read"));
  }
  place.dtype = known->dtype;
  uint64_t bytes = SizeOf(place.dtype);
  for (const Value& extent : shape->second.list_value().values()) {
    uint64_t count = 0;
    if (!AsCount(extent, &count)) return Corrupt("a shape that is no count");
    if (__builtin_mul_overflow(bytes, count, &bytes)) {
      return Corrupt("the product of the shape is too large");
    }
    place.shape.push_back(static_cast<int64_t>(count));
  }
  const auto& pair = offsets->second.list_value();
  if (pair.values_size() != 2 || !AsCount(pair.values(0), &place.begin) ||
      !AsCount(pair.values(1), &place.end) || place.end < place.begin) {
    return Corrupt("expected two ascending data_offsets");
  }
  if (place.end - place.begin != bytes) {
    return Corrupt(absl::StrCat("expected ", bytes, " bytes of ", known->text,
                                " [", absl::StrJoin(place.shape, ","),
                                "], found data_offsets of ",
                                place.end - place.begin));
  }
  return place;
}

// The tensor's elements as one row-major string.
absl::StatusOr<std::string> RowMajorBytes(const Tensor& tensor) {
  std::string dense(tensor.num_bytes(), '\0');
  absl::Status status = tensor.CopyBytes(0, dense.size(), &dense[0]);
  if (!status.ok()) return status;
  const std::vector<int64_t> strides =
      DenseStrides(tensor.shape(), tensor.DimensionOrder());
  if (strides.empty() || dense.empty()) return dense;
  const size_t element = SizeOf(tensor.dtype());
  std::string rows(dense.size(), '\0');
  std::vector<int64_t> index(tensor.shape().size(), 0);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from += index[d] * strides[d];
    std::memcpy(&rows[i * element], &dense[from * element], element);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.shape()[d]) break;
      index[d] = 0;
    }
  }
  return rows;
}

// `text` as JSON writes it, with its quotes.
std::string Quoted(const std::string& text) {
  Value value;
  value.set_string_value(text);
  std::string quoted;
  // A string cannot fail.
  (void)google::protobuf::util::MessageToJsonString(value, &quoted);
  return quoted;
}

}  // namespace

absl::StatusOr<SafetensorsFile> ReadSafetensors(FileSystem* file_system,
                                                const std::string& path) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->OpenForReading(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<FileInfo> info = (*file)->Stat();
  if (!info.ok()) return info.status();
  std::string head(std::min<uint64_t>(info->size, 512), '\0');
  absl::Status status = ReadExactly(file->get(), 0, &head[0], head.size());
  if (!status.ok()) return Annotate(status, path);
  if (head.size() < 9 || head[8] != '{') {
    return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                       absl::StrCat(path,
                                    ": expected a safetensors file, "
                                    "found ",
                                    DescribeForeignFile(head)));
  }
  const uint64_t length = LoadLittleEndian<uint64_t>(head, 0);
  if (length > kMaxHeader) {
    return MakeRefusal(Refusal::LIMIT,
                       absl::StrCat(path, ": a header of ", length,
                                    " bytes; the limit is ", kMaxHeader));
  }
  if (length > info->size - 8) {
    return MakeRefusal(Refusal::TRUNCATED,
                       absl::StrCat(path, ": expected a header of ", length,
                                    " bytes, found ", info->size - 8));
  }
  std::string header(length, '\0');
  status = ReadExactly(file->get(), 8, &header[0], length);
  if (!status.ok()) return Annotate(status, path);
  Struct json;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(header, &json);
  if (!parsed.ok()) {
    // What follows the first line shows the text itself.
    const std::string why(parsed.message());
    return Annotate(Corrupt(absl::StrCat("the header is no JSON object with "
                                         "one value a name: ",
                                         why.substr(0, why.find('\n')))),
                    path);
  }

  SafetensorsFile result;
  std::vector<Place> places;
  for (const auto& [name, value] : json.fields()) {
    if (name == kMetadata) {
      for (const auto& [key, text] : value.struct_value().fields()) {
        result.metadata.emplace_back(key, text.string_value());
      }
      continue;
    }
    absl::StatusOr<Place> place = ReadPlace(name, value);
    if (!place.ok()) {
      return Annotate(place.status(), absl::StrCat(path, ": tensor ", name));
    }
    places.push_back(*std::move(place));
  }
  std::sort(result.metadata.begin(), result.metadata.end());
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  const uint64_t data_size = info->size - 8 - length;
  uint64_t at = 0;
  for (const Place& place : places) {
    if (place.begin != at) {
      return Annotate(
          Corrupt(absl::StrCat(
              "tensor ", place.name, ": expected its bytes at ", at,
              " of the data, found ", place.begin, " (a gap or an overlap)")),
          path);
    }
    at = place.end;
  }
  if (at != data_size) {
    return MakeRefusal(at > data_size ? Refusal::TRUNCATED : Refusal::CORRUPT,
                       absl::StrCat(path, ": expected ", at,
                                    " bytes of tensors, found ", data_size));
  }
  for (Place& place : places) {
    auto bytes = std::make_shared<std::string>(place.end - place.begin, '\0');
    status = bytes->empty() ? absl::OkStatus()
                            : ReadExactly(file->get(), 8 + length + place.begin,
                                          &(*bytes)[0], bytes->size());
    if (!status.ok()) return Annotate(status, path);
    const void* data = bytes->data();
    result.tensors.push_back(Tensor::Shared(std::move(place.name), place.dtype,
                                            std::move(place.shape),
                                            std::move(bytes), data));
  }
  return result;
}

absl::Status WriteSafetensors(
    const std::vector<Tensor>& tensors,
    const std::vector<std::pair<std::string, std::string>>& metadata,
    File* file) {
  std::vector<const Tensor*> sorted;
  std::set<std::string> names;
  for (const Tensor& tensor : tensors) {
    if (!names.insert(tensor.name()).second) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat("two tensors are called ", tensor.name()));
    }
    sorted.push_back(&tensor);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Tensor* a, const Tensor* b) {
    const size_t x = SizeOf(a->dtype()), y = SizeOf(b->dtype());
    return x != y ? x > y : a->name() < b->name();
  });
  std::vector<std::string> parts;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, text] : metadata) {
      pairs.push_back(absl::StrCat(Quoted(key), ":", Quoted(text)));
    }
    parts.push_back(
        absl::StrCat("\"", kMetadata, "\":{", absl::StrJoin(pairs, ","), "}"));
  }
  uint64_t at = 0;
  for (const Tensor* tensor : sorted) {
    const TypeName* name = std::find_if(
        std::begin(kNames), std::end(kNames),
        [&](const TypeName& n) { return n.dtype == tensor->dtype(); });
    if (name == std::end(kNames)) {
      return absl::UnimplementedError(absl::StrCat("tensor ", tensor->name(),
                                                   ": safetensors has no type ",
                                                   Name(tensor->dtype())));
    }
    parts.push_back(absl::StrCat(
        Quoted(tensor->name()), ":{\"dtype\":\"", name->text, "\",\"shape\":[",
        absl::StrJoin(tensor->shape(), ","), "],\"data_offsets\":[", at, ",",
        at + tensor->num_bytes(), "]}"));
    at += tensor->num_bytes();
  }
  std::string header = absl::StrCat("{", absl::StrJoin(parts, ","), "}");
  // The data begins at a multiple of 8.
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string head;
  AppendLittleEndian(static_cast<uint64_t>(header.size()), &head);
  head += header;
  absl::Status status = WriteAll(file, 0, head);
  at = head.size();
  for (const Tensor* tensor : sorted) {
    if (!status.ok()) return status;
    absl::StatusOr<std::string> bytes = RowMajorBytes(*tensor);
    if (!bytes.ok()) return bytes.status();
    status = WriteAll(file, at, *bytes);
    at += bytes->size();
  }
  return status;
}

}  // namespace reprise
