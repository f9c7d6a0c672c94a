// The writing half of torch_file.h.
#include <cstring>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "format/interop/torch_file.h"
#include "format/interop/torch_names.h"
#include "format/interop/zip_writer.h"
#include "format/little_endian.h"
#include "format/refusal.h"

namespace reprise {
namespace {

using Kind = PyValue::Kind;

constexpr int kMaxDepth = 100;

// Writes protocol 2, as torch.save does.
class Pickler {
 public:
  absl::Status Write(const PyValue& root) {
    out_ = "\x80\x02";
    absl::Status status = Value(root, 0);
    out_ += '.';
    return status;
  }
  const std::string& bytes() const { return out_; }
  // The tensor that gives the bytes of data/0, data/1, ...
  const std::vector<const Tensor*>& storages() const { return storages_; }

 private:
  absl::Status Value(const PyValue& value, int depth) {
    if (depth > kMaxDepth) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("values nested deeper than ", kMaxDepth));
    }
    switch (value.kind) {
      case Kind::kNone:
        out_ += 'N';
        return absl::OkStatus();
      case Kind::kBool:
        out_ += value.boolean ? '\x88' : '\x89';
        return absl::OkStatus();
      case Kind::kInt:
        Int(value.integer);
        return absl::OkStatus();
      case Kind::kUInt:
        Long(value.unsigned_integer, /*more=*/true);
        return absl::OkStatus();
      case Kind::kReal:
        Real(value.real);
        return absl::OkStatus();
      case Kind::kText:
        Text(value.text);
        return absl::OkStatus();
      case Kind::kBytes:
        return absl::UnimplementedError("bytes; store them as a u8 tensor");
      case Kind::kList:
      case Kind::kTuple: {
        if (value.kind == Kind::kList) out_ += ']';
        out_ += '(';
        for (const PyValue* item : value.items) {
          absl::Status status = Value(*item, depth + 1);
          if (!status.ok()) return status;
        }
        out_ += value.kind == Kind::kList ? 'e' : 't';
        return absl::OkStatus();
      }
      case Kind::kDict: {
        out_ += "}(";
        for (const auto& [key, item] : value.entries) {
          absl::Status status = Value(*key, depth + 1);
          if (status.ok()) status = Value(*item, depth + 1);
          if (!status.ok()) return status;
        }
        out_ += 'u';
        return absl::OkStatus();
      }
      case Kind::kGlobal:
        Global(value.text);
        return absl::OkStatus();
      case Kind::kObject:
        OneTensor(*TensorOf(value));
        return absl::OkStatus();
    }
    return absl::InternalError("a value of no kind");
  }

  // "module.name", split at the last dot.
  void Global(const std::string& global) {
    const size_t dot = global.rfind('.');
    absl::StrAppend(&out_, "c", global.substr(0, dot), "\n",
                    global.substr(dot + 1), "\n");
  }

  void Text(absl::string_view text) {
    out_ += 'X';
    AppendLittleEndian(static_cast<uint32_t>(text.size()), &out_);
    absl::StrAppend(&out_, text);
  }

  void Int(int64_t value) {
    if (value >= 0 && value < 256) {
      out_ += 'K';
      out_ += static_cast<char>(value);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      out_ += 'J';
      AppendLittleEndian(static_cast<uint32_t>(value), &out_);
    } else {
      Long(static_cast<uint64_t>(value), /*more=*/false);
    }
  }

  // `more`: a ninth byte says that the number is not negative.
  void Long(uint64_t bits, bool more) {
    out_ += '\x8a';
    out_ += static_cast<char>(more ? 9 : 8);
    AppendLittleEndian(bits, &out_);
    if (more) out_ += '\0';
  }

  void Real(double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    out_ += 'G';
    for (int shift = 56; shift >= 0; shift -= 8) {
      out_ += static_cast<char>(bits >> shift & 0xff);
    }
  }

  void Tuple(const std::vector<int64_t>& values) {
    out_ += '(';
    for (int64_t value : values) Int(value);
    out_ += 't';
  }

  void OneTensor(const Tensor& tensor) {
    const absl::string_view storage_class = StorageClassOf(tensor.dtype());
    const bool untyped = storage_class.empty();
    const std::vector<uint32_t> order = tensor.DimensionOrder();
    std::vector<int64_t> strides = DenseStrides(tensor.shape(), order);
    if (strides.empty()) {
      strides.resize(tensor.shape().size());
      int64_t step = 1;
      for (size_t i = strides.size(); i-- > 0;) {
        strides[i] = step;
        step *= std::max<int64_t>(tensor.shape()[i], 1);
      }
    }
    Global(untyped ? "torch._utils._rebuild_tensor_v3"
                   : "torch._utils._rebuild_tensor_v2");
    out_ += "((";
    Text("storage");
    Global(untyped ? "torch.storage.UntypedStorage"
                   : absl::StrCat("torch.", storage_class));
    Text(absl::StrCat(StorageIndex(tensor, order)));
    Text("cpu");
    Int(untyped ? tensor.num_bytes() : tensor.num_elements());
    out_ += "tQ";
    Int(0);
    Tuple(tensor.shape());
    Tuple(strides);
    out_ += '\x89';
    Global("collections.OrderedDict");
    out_ += ")R";
    if (untyped) Global(std::string(TorchNameOf(tensor.dtype())));
    out_ += "tR";
  }

  // Two names of one tensor share a storage; what overlaps otherwise does not.
  size_t StorageIndex(const Tensor& tensor,
                      const std::vector<uint32_t>& order) {
    const bool known = tensor.storage().has_value();
    if (!known && tensor.data() == nullptr) {
      storages_.push_back(&tensor);
      return storages_.size() - 1;
    }
    const Key key{known,
                  known ? tensor.storage()->id
                        : reinterpret_cast<uintptr_t>(tensor.data()),
                  known ? tensor.storage()->offset : 0,
                  tensor.dtype(),
                  tensor.shape(),
                  order};
    auto [found, is_new] = index_.try_emplace(key, storages_.size());
    if (is_new) storages_.push_back(&tensor);
    return found->second;
  }

  using Key = std::tuple<bool, uint64_t, uint64_t, DType, std::vector<int64_t>,
                         std::vector<uint32_t>>;

  std::string out_;
  std::vector<const Tensor*> storages_;
  std::map<Key, size_t> index_;
};

}  // namespace

absl::Status WriteTorchFile(const PyValue& root, File* file) {
  Pickler pickler;
  absl::Status status = pickler.Write(root);
  if (!status.ok()) return status;
  ZipWriter writer(file);
  status = writer.Add("archive/data.pkl", pickler.bytes());
  if (status.ok()) status = writer.Add("archive/byteorder", "little");
  for (size_t i = 0; status.ok() && i < pickler.storages().size(); ++i) {
    const Tensor& tensor = *pickler.storages()[i];
    status = writer.Add(absl::StrCat("archive/data/", i), tensor.num_bytes(),
                        [&tensor](uint64_t offset, size_t length, char* out) {
                          return tensor.CopyBytes(offset, length, out);
                        });
  }
  if (status.ok()) status = writer.Add("archive/version", "3\n");
  return status.ok() ? writer.Finish() : status;
}

}  // namespace reprise
