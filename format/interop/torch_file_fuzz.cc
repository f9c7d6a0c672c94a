// Any bytes as the pickle inside a file of torch.save, beside one storage: it
// is refused, or every tensor lies inside its storage.
#include <unistd.h>

#include <string>

#include "format/interop/torch_file.h"
#include "format/interop/zip_writer.h"
#include "format/testing/fuzz_driver.h"

namespace reprise {
namespace {

// Reads the first and last byte of every tensor; the sanitizer watches.
void Touch(const PyDocument& document) {
  for (const PyValue& value : document.values) {
    const Tensor* tensor = TensorOf(value);
    if (tensor == nullptr || tensor->num_elements() == 0) continue;
    int64_t last = 0;
    for (size_t d = 0; d < tensor->shape().size(); ++d) {
      const int64_t stride =
          tensor->strides().empty() ? 0 : tensor->strides()[d];
      last += (tensor->shape()[d] - 1) * stride;
    }
    volatile char sum = *static_cast<const char*>(tensor->data());
    sum = sum + static_cast<const char*>(
                    tensor->data())[last * SizeOf(tensor->dtype())];
  }
}

void Check(const std::string& path) {
  const absl::StatusOr<TorchFile> file =
      ReadTorchFile(FileSystem::Real(), path);
  if (file.ok()) {
    Touch(file->document);
  } else {
    FUZZ_EXPECT(!file.status().message().empty(), "a refusal without a word");
  }
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using reprise::FileSystem;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const char* folder = getenv("TEST_TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") +
                           "/torch_file_fuzz." + std::to_string(getpid());
  // Once as the file itself, once as a pickle whose checksum is right.
  for (bool whole : {true, false}) {
    (void)FileSystem::Real()->Unlink(path);
    auto file = FileSystem::Real()->CreateExclusive(path, 0600);
    FUZZ_EXPECT(file.ok(), "no place for the file");
    reprise::ZipWriter writer(file->get());
    const bool written =
        whole ? WriteAll(file->get(), 0, bytes).ok()
              : writer.Add("a/data.pkl", bytes).ok() &&
                    writer.Add("a/data/0", std::string(64, 'x')).ok() &&
                    writer.Finish().ok();
    FUZZ_EXPECT(written && (*file)->Close().ok(), "the file was not written");
    reprise::Check(path);
  }
  (void)FileSystem::Real()->Unlink(path);
  return 0;
}
