#include "format/interop/torch_file.h"

#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "format/interop/torch_names.h"
#include "format/interop/zip_archive.h"
#include "format/refusal.h"

namespace reprise {
namespace {

using Kind = PyValue::Kind;

constexpr uint64_t kMaxPickle = uint64_t{16} << 20;
constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxDimensions = 64;

constexpr int kStorageObject = 1;
constexpr int kTensorObject = 2;

constexpr absl::string_view kRebuildV2 = "torch._utils._rebuild_tensor_v2";
constexpr absl::string_view kRebuildV3 = "torch._utils._rebuild_tensor_v3";
constexpr absl::string_view kRebuildParameter =
    "torch._utils._rebuild_parameter";
constexpr absl::string_view kUntypedStorage = "torch.storage.UntypedStorage";
constexpr absl::string_view kSize = "torch.Size";
constexpr absl::string_view kDevice = "torch.device";

struct Storage {
  uint64_t id = 0;
  // None: untyped, the tensor says.
  std::optional<DType> dtype;
  std::shared_ptr<const std::string> bytes;
};

absl::Status Corrupt(absl::string_view message) {
  return MakeRefusal(Refusal::CORRUPT, message);
}

// Sizes or strides: non-negative integers.
absl::StatusOr<std::vector<int64_t>> Extents(const PyValue& value) {
  std::vector<int64_t> extents;
  if (value.kind != Kind::kTuple && value.kind != Kind::kList) {
    return Corrupt(absl::StrCat("expected sizes, found ", Describe(value)));
  }
  if (value.items.size() > kMaxDimensions) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat("a tensor of ", value.items.size(),
                     " dimensions; the limit is ", kMaxDimensions));
  }
  for (const PyValue* item : value.items) {
    if (item->kind != Kind::kInt || item->integer < 0) {
      return Corrupt("a size or stride that is no count");
    }
    extents.push_back(item->integer);
  }
  return extents;
}

// One more than the index of the last element of a view that begins at
// `offset`; 0 for a view of nothing.
absl::StatusOr<int64_t> EndOfView(int64_t offset,
                                  const std::vector<int64_t>& shape,
                                  const std::vector<int64_t>& strides) {
  int64_t last = offset;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return Corrupt("a tensor reaches beyond 2^63 elements");
    }
  }
  return last == kMaxInt ? Corrupt("a tensor reaches beyond 2^63 elements")
                         : absl::StatusOr<int64_t>(last + 1);
}

class TorchHost : public PickleHost {
 public:
  TorchHost(const ZipArchive* archive, std::string prefix)
      : archive_(archive), prefix_(std::move(prefix)) {}

  bool Accepts(absl::string_view global) const override {
    return PickleHost::Accepts(global) || global == kRebuildV2 ||
           global == kRebuildV3 || global == kRebuildParameter ||
           global == kUntypedStorage || global == kSize || global == kDevice ||
           DTypeOfTorchName(global).has_value() ||
           DTypeOfStorageClass(global).has_value();
  }

  absl::Status Call(absl::string_view global, const PyValue& arguments,
                    PyValue* result) override {
    const std::vector<const PyValue*>& given = arguments.items;
    if (global == kRebuildV2 || global == kRebuildV3) {
      return Rebuild(given, global == kRebuildV3, result);
    }
    if (global == kRebuildParameter) {
      if (given.empty() || TensorOf(*given[0]) == nullptr) {
        return Corrupt("expected a tensor");
      }
      SetTensor(*TensorOf(*given[0]), result);
      return absl::OkStatus();
    }
    if (global == kSize) {
      if (given.size() != 1 ||
          (given[0]->kind != Kind::kTuple && given[0]->kind != Kind::kList)) {
        return Corrupt("expected one tuple");
      }
      result->kind = Kind::kTuple;
      result->items = given[0]->items;
      return absl::OkStatus();
    }
    if (global == kDevice) {
      if (given.empty() || given[0]->kind != Kind::kText) {
        return Corrupt("expected a device's name");
      }
      result->kind = Kind::kText;
      result->text = given[0]->text;
      if (given.size() > 1 && given[1]->kind == Kind::kInt) {
        absl::StrAppend(&result->text, ":", given[1]->integer);
      }
      return absl::OkStatus();
    }
    if (!PickleHost::Accepts(global)) {
      return absl::UnimplementedError("is called, which nothing here does");
    }
    return PickleHost::Call(global, arguments, result);
  }

  // ("storage", class, key, device, elements).
  absl::Status Persistent(const PyValue& id, PyValue* result) override {
    if (id.kind != Kind::kTuple || id.items.size() < 5 ||
        id.items[0]->kind != Kind::kText || id.items[0]->text != "storage" ||
        id.items[1]->kind != Kind::kGlobal ||
        id.items[2]->kind != Kind::kText || id.items[4]->kind != Kind::kInt ||
        id.items[4]->integer < 0) {
      return Corrupt("a persistent id that is no storage");
    }
    const std::string& type = id.items[1]->text;
    const std::optional<DType> dtype = DTypeOfStorageClass(type);
    if (!dtype.has_value() && type != kUntypedStorage) {
      return Corrupt(absl::StrCat(type, " is no storage"));
    }
    const std::string name = absl::StrCat(prefix_, "data/", id.items[2]->text);
    const ZipArchive::Entry* entry = archive_->Find(name);
    if (entry == nullptr) {
      return Corrupt(absl::StrCat("the archive has no entry ", name));
    }
    const uint64_t element = dtype.has_value() ? SizeOf(*dtype) : 1;
    if (entry->size / element != static_cast<uint64_t>(id.items[4]->integer) ||
        entry->size % element != 0) {
      return Corrupt(absl::StrCat(
          "storage ", name, ": expected ", id.items[4]->integer,
          " elements of ", element, " bytes, found ", entry->size, " bytes"));
    }
    auto [loaded, is_new] = storages_.try_emplace(name, nullptr);
    if (is_new) {
      absl::StatusOr<std::string> bytes = archive_->Read(name, entry->size);
      if (!bytes.ok()) return bytes.status();
      loaded->second = std::make_shared<const std::string>(*std::move(bytes));
    }
    if (loaded->second == nullptr) return Corrupt("a storage failed before");
    auto storage = std::make_shared<Storage>();
    storage->id =
        static_cast<uint64_t>(std::distance(archive_->entries().data(), entry));
    storage->dtype = dtype;
    storage->bytes = loaded->second;
    result->kind = Kind::kObject;
    result->object_type = kStorageObject;
    result->object = std::move(storage);
    return absl::OkStatus();
  }

 private:
  // (storage, offset, size, stride, requires_grad, hooks[, dtype][, metadata]).
  absl::Status Rebuild(const std::vector<const PyValue*>& given, bool untyped,
                       PyValue* result) {
    const size_t fixed = untyped ? 7 : 6;
    if (given.size() < fixed || given[0]->kind != Kind::kObject ||
        given[0]->object_type != kStorageObject ||
        given[1]->kind != Kind::kInt || given[1]->integer < 0) {
      return Corrupt("expected a storage, an offset, sizes and strides");
    }
    const Storage& storage =
        *static_cast<const Storage*>(given[0]->object.get());
    std::optional<DType> dtype = storage.dtype;
    if (untyped) {
      if (given[6]->kind != Kind::kGlobal) return Corrupt("expected a dtype");
      dtype = DTypeOfTorchName(given[6]->text);
    }
    if (!dtype.has_value()) return Corrupt("a tensor without a dtype");
    // Lazily conjugated and negated views: their bytes are not their values.
    for (size_t i = fixed; i < given.size(); ++i) {
      if (!given[i]->entries.empty()) {
        return absl::UnimplementedError(
            "a tensor that is a lazily conjugated or negated view; call "
            "resolve_conj() and resolve_neg() before saving");
      }
    }
    absl::StatusOr<std::vector<int64_t>> shape = Extents(*given[2]);
    if (!shape.ok()) return shape.status();
    absl::StatusOr<std::vector<int64_t>> strides = Extents(*given[3]);
    if (!strides.ok()) return strides.status();
    if (shape->size() != strides->size()) {
      return Corrupt("a tensor with as many sizes as strides: expected");
    }
    const int64_t offset = given[1]->integer;
    absl::StatusOr<int64_t> end = EndOfView(offset, *shape, *strides);
    if (!end.ok()) return end.status();
    const int64_t elements =
        static_cast<int64_t>(storage.bytes->size() / SizeOf(*dtype));
    if (*end > elements) {
      return Corrupt(absl::StrCat("a tensor ends at element ", *end,
                                  " of a storage of ", elements));
    }
    // Strides of 0 make many elements of few bytes.
    int64_t count = 1;
    for (int64_t extent : *shape) {
      if (__builtin_mul_overflow(count, extent, &count) ||
          (count > elements && *end != 0)) {
        return absl::UnimplementedError(absl::StrCat(
            "a tensor has more elements than its storage's ", elements,
            " (an expanded view); call contiguous() "
            "before saving"));
      }
    }
    const uint64_t byte_offset = *end == 0 ? 0 : offset * SizeOf(*dtype);
    Tensor tensor =
        Tensor::Strided("", *dtype, *std::move(shape), *std::move(strides),
                        storage.bytes, storage.bytes->data() + byte_offset);
    tensor.SetStorage(storage.id, byte_offset);
    SetTensor(std::move(tensor), result);
    return absl::OkStatus();
  }

  const ZipArchive* archive_;
  std::string prefix_;
  std::map<std::string, std::shared_ptr<const std::string>> storages_;
};

}  // namespace

const Tensor* TensorOf(const PyValue& value) {
  if (value.kind != Kind::kObject || value.object_type != kTensorObject) {
    return nullptr;
  }
  return static_cast<const Tensor*>(value.object.get());
}

void SetTensor(Tensor tensor, PyValue* value) {
  value->kind = Kind::kObject;
  value->object_type = kTensorObject;
  value->object = std::make_shared<const Tensor>(std::move(tensor));
}

absl::StatusOr<TorchFile> ReadTorchFile(FileSystem* file_system,
                                        const std::string& path) {
  absl::StatusOr<std::unique_ptr<ZipArchive>> archive =
      ZipArchive::Open(file_system, path);
  if (!archive.ok()) {
    if (RefusalOf(archive.status()) == Refusal::NOT_A_CHECKPOINT) {
      return Annotate(archive.status(),
                      "expected a file of torch.save (torch 1.6 or later)");
    }
    return archive.status();
  }
  // The archive's one folder is called after the file that was saved to.
  std::string pickle;
  for (const ZipArchive::Entry& entry : (*archive)->entries()) {
    if (!absl::EndsWith(entry.name, "/data.pkl")) continue;
    if (!pickle.empty()) {
      return Annotate(Corrupt("two entries are called data.pkl"), path);
    }
    pickle = entry.name;
  }
  if (pickle.empty()) {
    return MakeRefusal(
        Refusal::NOT_A_CHECKPOINT,
        absl::StrCat(path,
                     ": expected a file of torch.save, found a zip "
                     "archive without data.pkl"));
  }
  const std::string prefix(absl::StripSuffix(pickle, "data.pkl"));
  if ((*archive)->Find(prefix + "constants.pkl") != nullptr) {
    return MakeRefusal(
        Refusal::NOT_A_CHECKPOINT,
        absl::StrCat(path,
                     ": expected a file of torch.save, found a "
                     "TorchScript program; save its state_dict()"));
  }
  if ((*archive)->Find(prefix + "byteorder") != nullptr) {
    absl::StatusOr<std::string> order =
        (*archive)->Read(prefix + "byteorder", 16);
    if (!order.ok()) return order.status();
    if (*order != "little") {
      return absl::UnimplementedError(absl::StrCat(
          path, ": byte order \"", *order, "\"; only little is read"));
    }
  }
  absl::StatusOr<std::string> bytes = (*archive)->Read(pickle, kMaxPickle);
  if (!bytes.ok()) return bytes.status();
  TorchHost host(archive->get(), prefix);
  absl::StatusOr<PyDocument> document = ReadPickle(*bytes, &host);
  if (!document.ok()) return Annotate(document.status(), path);
  return TorchFile{*std::move(document)};
}

}  // namespace reprise
