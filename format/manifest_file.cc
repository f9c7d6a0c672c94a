#include "format/manifest_file.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"

namespace reprise {
namespace {

// Enough to tell other kinds of file apart.
constexpr size_t kHeadSize = 512;
constexpr uint32_t kReadOnly = 0444;

struct OpenedFile {
  std::unique_ptr<File> file;
  uint64_t size = 0;
  std::string head;
};

absl::StatusOr<OpenedFile> OpenWithHead(FileSystem* file_system,
                                        const std::string& path) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->OpenForReading(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<FileInfo> info = (*file)->Stat();
  if (!info.ok()) return info.status();
  OpenedFile opened;
  opened.size = info->size;
  opened.head.resize(std::min<uint64_t>(info->size, kHeadSize));
  absl::Status status =
      ReadExactly(file->get(), 0, &opened.head[0], opened.head.size());
  if (!status.ok()) return status;
  opened.file = *std::move(file);
  return opened;
}

absl::StatusOr<ManifestFile> Read(FileSystem* file_system,
                                  const std::string& path) {
  absl::StatusOr<OpenedFile> opened = OpenWithHead(file_system, path);
  if (!opened.ok()) return opened.status();
  absl::StatusOr<Envelope> envelope = OpenEnvelope(opened->head, opened->size);
  if (!envelope.ok()) return envelope.status();
  ManifestFile result;
  // Bounded by the size of the file, which OpenEnvelope has compared.
  result.manifest.resize(envelope->manifest_length);
  absl::Status status =
      ReadExactly(opened->file.get(), kEnvelopeSize, &result.manifest[0],
                  result.manifest.size());
  if (!status.ok()) return status;
  status = CheckManifest(*envelope, result.manifest);
  if (!status.ok()) return status;
  result.envelope = *std::move(envelope);
  return result;
}

}  // namespace

absl::StatusOr<ManifestFile> ReadManifestFile(FileSystem* file_system,
                                              const std::string& path) {
  absl::StatusOr<ManifestFile> result = Read(file_system, path);
  if (!result.ok()) return Annotate(result.status(), path);
  return result;
}

absl::StatusOr<Envelope> ReadEnvelope(FileSystem* file_system,
                                      const std::string& path) {
  absl::StatusOr<OpenedFile> opened = OpenWithHead(file_system, path);
  if (!opened.ok()) return Annotate(opened.status(), path);
  absl::StatusOr<Envelope> envelope =
      DecodeEnvelope(opened->head, opened->size);
  if (!envelope.ok()) return Annotate(envelope.status(), path);
  return envelope;
}

absl::StatusOr<std::string> WriteManifestFile(FileSystem* file_system,
                                              const std::string& path,
                                              uint32_t major, uint32_t minor,
                                              absl::string_view manifest) {
  Envelope envelope;
  envelope.major = major;
  envelope.minor = minor;
  envelope.manifest_length = manifest.size();
  envelope.manifest_digest = ManifestDigest(manifest);
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->CreateExclusive(path, kReadOnly);
  if (!file.ok()) return file.status();
  absl::Status status = WriteAll(file->get(), 0, EncodeEnvelope(envelope));
  if (status.ok()) status = WriteAll(file->get(), kEnvelopeSize, manifest);
  if (status.ok()) status = (*file)->SyncData();
  // Closed in any case; the first error counts.
  status.Update((*file)->Close());
  if (!status.ok()) return status;
  return envelope.manifest_digest;
}

}  // namespace reprise
