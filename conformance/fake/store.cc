#include "conformance/fake/store.h"

#include <xxhash.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "format/refusal.h"

namespace reprise::conformance::fake {
namespace {

constexpr char kMagic[] = "reprise-fake";
constexpr size_t kLargestFile = size_t{64} << 20;

std::string Digest(absl::string_view bytes) {
  return absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string Encode(const State& state) {
  std::string body = state.SerializeAsString();
  return absl::StrCat(kMagic, " 1 ", Digest(body), " ", body.size(), "\n",
                      body);
}

absl::StatusOr<Loaded> Decode(absl::string_view bytes) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(bytes, absl::MaxSplits('\n', 1));
  const std::vector<std::string> head = absl::StrSplit(parts.first, ' ');
  if (head.size() != 4 || head[0] != kMagic || head[1] != "1") {
    return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                       "expected a line \"reprise-fake 1 DIGEST BYTES\"");
  }
  uint64_t size;
  if (!absl::SimpleAtoi(head[3], &size) || size != parts.second.size()) {
    return MakeRefusal(Refusal::TRUNCATED,
                       absl::StrCat("expected ", head[3], " bytes, found ",
                                    parts.second.size()));
  }
  Loaded loaded;
  if (Digest(parts.second) != head[2] ||
      !loaded.state.ParseFromArray(parts.second.data(),
                                   static_cast<int>(parts.second.size()))) {
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat("expected digest ", head[2], ", found ",
                                    Digest(parts.second)));
  }
  loaded.checkpoint = head[2];
  return loaded;
}

}  // namespace

std::string CheckpointName(const State& state) {
  // A name ending in -micro sorts after its step's own, as it is newer.
  std::string name = absl::StrFormat("step-%012d", state.counters().step());
  if (state.accumulation().count() > 0) {
    absl::StrAppendFormat(&name, "-micro-%04d", state.accumulation().count());
  }
  return name;
}

FileStore::FileStore(FileSystem* files, std::string folder, uint32_t keep_last,
                     std::unique_ptr<File> lock)
    : files_(files),
      folder_(std::move(folder)),
      keep_last_(keep_last),
      lock_(std::move(lock)) {}

absl::StatusOr<std::unique_ptr<FileStore>> FileStore::Open(
    FileSystem* files, const std::string& folder, uint32_t keep_last) {
  absl::Status status = CreateFoldersDurably(files, folder);
  if (!status.ok()) return status;
  auto lock = files->OpenOrCreate(JoinPath(folder, "lock"));
  if (!lock.ok()) return lock.status();
  absl::StatusOr<bool> taken = (*lock)->TryLock();
  if (!taken.ok()) return taken.status();
  if (!*taken) {
    return MakeRefusal(Refusal::LOCKED,
                       absl::StrCat(folder, ": another process holds it"));
  }
  auto entries = files->List(folder);
  if (!entries.ok()) return entries.status();
  for (const FolderEntry& entry : *entries) {
    if (absl::StartsWith(entry.name, ".tmp-") ||
        absl::StartsWith(entry.name, ".trash-")) {
      status = RemoveRecursively(files, JoinPath(folder, entry.name));
      if (!status.ok()) return status;
    }
  }
  return std::unique_ptr<FileStore>(
      new FileStore(files, folder, keep_last, *std::move(lock)));
}

absl::StatusOr<std::vector<std::string>> FileStore::List() {
  auto entries = files_->List(folder_);
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  for (const FolderEntry& entry : *entries) {
    if (absl::StartsWith(entry.name, "step-")) names.push_back(entry.name);
  }
  return names;  // List is sorted, and so are the names
}

absl::StatusOr<Loaded> FileStore::LoadNamed(const std::string& name) {
  const std::string path = JoinPath(JoinPath(folder_, name), "state");
  absl::StatusOr<std::string> bytes = ReadSmallFile(files_, path, kLargestFile);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<Loaded> loaded = Decode(*bytes);
  if (!loaded.ok()) return Annotate(loaded.status(), path);
  loaded->checkpoint = absl::StrCat(name, ":", loaded->checkpoint);
  return loaded;
}

absl::StatusOr<std::optional<Loaded>> FileStore::Load() {
  auto names = List();
  if (!names.ok()) return names.status();
  absl::Status first;
  for (auto name = names->rbegin(); name != names->rend(); ++name) {
    absl::StatusOr<Loaded> loaded = LoadNamed(*name);
    if (loaded.ok()) return std::optional<Loaded>(*std::move(loaded));
    passed_over_.push_back(*name);
    first.Update(loaded.status());
  }
  if (!first.ok()) return Annotate(first, "no checkpoint verifies");
  return std::optional<Loaded>();
}

absl::Status FileStore::ResumeFrom(const State& state) {
  auto names = List();
  if (!names.ok()) return names.status();
  names->erase(names->begin(), std::upper_bound(names->begin(), names->end(),
                                                CheckpointName(state)));
  if (names->empty()) return absl::OkStatus();
  // The attempt's number, or the next one whose folder is free.
  std::string abandoned;
  for (uint64_t number = state.attempt();; ++number) {
    abandoned = JoinPath(JoinPath(folder_, "abandoned"), absl::StrCat(number));
    if (!files_->LinkStat(abandoned).ok()) break;
  }
  absl::Status status = CreateFoldersDurably(files_, abandoned);
  for (const std::string& name : *names) {
    if (status.ok()) {
      status = files_->RenameNoReplace(JoinPath(folder_, name),
                                       JoinPath(abandoned, name));
    }
  }
  if (status.ok()) status = files_->SyncFolder(abandoned);
  if (status.ok()) status = files_->SyncFolder(folder_);
  return status;
}

absl::Status FileStore::WriteState(const std::string& path,
                                   const std::string& bytes, const State& state,
                                   SaveWatch* watch) {
  auto file = files_->CreateExclusive(path, 0444);
  if (!file.ok()) return file.status();
  watch->At(v1::S1, state);
  const size_t half = bytes.size() / 2;
  absl::Status status =
      WriteAll(file->get(), 0, absl::string_view(bytes).substr(0, half));
  if (!status.ok()) return status;
  watch->At(v1::S2, state);
  status = WriteAll(file->get(), half, absl::string_view(bytes).substr(half));
  if (!status.ok()) return status;
  watch->At(v1::S3, state);
  status = (*file)->SyncData();
  if (status.ok()) status = (*file)->Close();
  return status;
}

absl::Status FileStore::Commit(const State& state, SaveWatch* watch) {
  const std::string name = CheckpointName(state);
  const std::string temporary = JoinPath(folder_, absl::StrCat(".tmp-", name));
  const std::string bytes = Encode(state);
  absl::Status status = RemoveRecursively(files_, temporary);
  if (status.ok()) status = files_->CreateFolder(temporary);
  if (status.ok()) {
    status = WriteState(JoinPath(temporary, "state"), bytes, state, watch);
  }
  if (status.ok()) status = files_->SyncFolder(temporary);
  if (!status.ok()) return Annotate(status, name);
  watch->At(v1::S4, state);
  status = files_->RenameNoReplace(temporary, JoinPath(folder_, name));
  if (!status.ok()) return Annotate(status, name);
  watch->At(v1::S5, state);
  status = files_->SyncFolder(folder_);
  if (!status.ok()) return Annotate(status, name);
  absl::StatusOr<Loaded> written = Decode(bytes);
  if (!written.ok()) return Annotate(written.status(), name);
  watch->Durable(absl::StrCat(name, ":", written->checkpoint), state);
  watch->At(v1::S6, state);
  status = SwitchLatest(name);
  if (!status.ok()) return Annotate(status, "latest");
  watch->At(v1::S7, state);
  return Annotate(Prune(state, watch), "prune");
}

absl::Status FileStore::SwitchLatest(const std::string& name) {
  const std::string temporary = JoinPath(folder_, ".tmp-latest");
  absl::Status status = RemoveRecursively(files_, temporary);
  if (!status.ok()) return status;
  auto file = files_->CreateExclusive(temporary, 0644);
  if (!file.ok()) return file.status();
  status = WriteAll(file->get(), 0, name + "\n");
  if (status.ok()) status = (*file)->SyncData();
  if (status.ok()) status = (*file)->Close();
  if (status.ok()) {
    status = files_->Rename(temporary, JoinPath(folder_, "latest"));
  }
  if (status.ok()) status = files_->SyncFolder(folder_);
  return status;
}

absl::Status FileStore::Prune(const State& state, SaveWatch* watch) {
  auto names = List();
  if (!names.ok()) return names.status();
  const std::string best = absl::StrFormat("step-%012d", state.best().step());
  bool half = false;
  for (size_t i = 0; i + keep_last_ < names->size(); ++i) {
    const std::string& name = (*names)[i];
    if (name == best) continue;
    const std::string trash = JoinPath(folder_, absl::StrCat(".trash-", name));
    absl::Status status = files_->Rename(JoinPath(folder_, name), trash);
    if (status.ok()) status = files_->SyncFolder(folder_);
    if (!status.ok()) return status;
    if (!half) watch->At(v1::S8, state);
    half = true;
    status = RemoveRecursively(files_, trash);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string FileStore::Newest() {
  auto names = List();
  if (!names.ok() || names->empty()) return "";
  absl::StatusOr<Loaded> loaded = LoadNamed(names->back());
  return loaded.ok() ? loaded->checkpoint : "";
}

std::string FileStore::At(uint64_t step) {
  absl::StatusOr<Loaded> loaded =
      LoadNamed(absl::StrFormat("step-%012d", step));
  return loaded.ok() ? loaded->checkpoint : "";
}

}  // namespace reprise::conformance::fake
