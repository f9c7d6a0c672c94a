// Files of Python's torch.save, read and written without Python.
//
// Example (a test as well):
//
//   auto file = reprise::ReadTorchFile(FileSystem::Real(), "checkpoint.pt");
//   if (!file.ok()) return file.status();
//   const reprise::PyValue* model = file->document.root->Get("model");
//   for (const auto& [name, value] : model->entries) {
//     const reprise::Tensor* weight = reprise::TensorOf(*value);
//   }
//
// Read: zip archives of torch 1.6 and later that hold tensors, dicts, lists,
// numbers, strings and what torch.load(weights_only=True) accepts beside them
// in state dicts (OrderedDict, Counter, torch.Size, dtypes, devices). Nothing
// is executed; anything else is refused by name (UNIMPLEMENTED). Tensors that
// share a storage share its bytes here too. Every size is checked against the
// file before memory is taken; memory is the storages' bytes and the values'.
// Thread-safe.
#ifndef REPRISE_FORMAT_INTEROP_TORCH_FILE_H_
#define REPRISE_FORMAT_INTEROP_TORCH_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/interop/pickle.h"
#include "format/io/file_system.h"
#include "format/tensor.h"

namespace reprise {

struct TorchFile {
  // Dicts, lists, numbers; tensors as objects.
  PyDocument document;
};

// Errors: NOT_A_CHECKPOINT for another kind of file (also the format before
// torch 1.6 and TorchScript archives), TRUNCATED, CORRUPT, LIMIT,
// UNIMPLEMENTED.
absl::StatusOr<TorchFile> ReadTorchFile(FileSystem* file_system,
                                        const std::string& path);

// The tensor that `value` is; null when it is none. Its storage says which
// tensors are views of the same bytes.
const Tensor* TensorOf(const PyValue& value);

// Makes `value` the tensor: for documents to be written.
void SetTensor(Tensor tensor, PyValue* value);

// Writes `root` (no tensors but those of SetTensor; kGlobal stands for a dtype
// or another accepted name) as torch.save does: a zip archive that
// torch.load(weights_only=True) opens. Tensors are written row-major, each
// storage once; two tensors with the same Storage (format/tensor.h) share it.
// The same values give the same bytes. `file` is empty, and is neither synced
// nor closed. Error LIMIT for values nested deeper than 100.
absl::Status WriteTorchFile(const PyValue& root, File* file);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_TORCH_FILE_H_
