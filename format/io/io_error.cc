#include "format/io/io_error.h"

#include <errno.h>
#include <string.h>

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"

namespace reprise {
namespace {

constexpr char kPayloadUrl[] = "reprise/errno";

Refusal KindOf(int error_number) {
  switch (error_number) {
    case ENOENT:
      return Refusal::ABSENT;
    case ELOOP:
      return Refusal::NOT_A_CHECKPOINT;
    default:
      return Refusal::IO;
  }
}

absl::string_view AdviceFor(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "; make room on that file system and start again";
    case EDQUOT:
      return "; the quota is used up: make room and start again";
    case EACCES:
    case EPERM:
      return "; check the owner and mode of the folder";
    case EROFS:
      return "; the file system is mounted read-only";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    case ELOOP:
      return "; symbolic links are refused, name the real path";
    default:
      return "";
  }
}

}  // namespace

absl::Status IoError(int error_number, absl::string_view operation,
                     absl::string_view path) {
  // Unlike strerror, safe with threads.
  const char* text = strerrordesc_np(error_number);
  if (text == nullptr) text = "unknown error";
  absl::Status status =
      MakeRefusal(KindOf(error_number),
                  absl::StrCat(operation, " ", path, ": ", text, " (errno ",
                               error_number, ")", AdviceFor(error_number)));
  status.SetPayload(kPayloadUrl, absl::Cord(absl::StrCat(error_number)));
  return status;
}

int ErrnoOf(const absl::Status& status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  int number = 0;
  if (!payload.has_value() ||
      !absl::SimpleAtoi(std::string(*payload), &number)) {
    return 0;
  }
  return number;
}

}  // namespace reprise
