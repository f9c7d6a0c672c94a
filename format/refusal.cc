#include "format/refusal.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

// The payload's value is the canonical text of the kind.
constexpr char kPayloadUrl[] = "reprise/vocabulary.v1.Refusal";

absl::StatusCode CodeFor(Refusal refusal) {
  switch (refusal) {
    case Refusal::ABSENT:
      return absl::StatusCode::kNotFound;
    case Refusal::NOT_A_CHECKPOINT:
    case Refusal::INVALID_VALUE:
      return absl::StatusCode::kInvalidArgument;
    case Refusal::TOO_NEW:
    case Refusal::UNKNOWN_FEATURE:
      return absl::StatusCode::kUnimplemented;
    case Refusal::TRUNCATED:
    case Refusal::CORRUPT:
      return absl::StatusCode::kDataLoss;
    case Refusal::MISSING_ITEM:
    case Refusal::MISMATCH:
      return absl::StatusCode::kFailedPrecondition;
    case Refusal::LIMIT:
      return absl::StatusCode::kResourceExhausted;
    case Refusal::LOCKED:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status MakeRefusal(Refusal refusal, absl::string_view message) {
  absl::Status status(CodeFor(refusal), message);
  status.SetPayload(kPayloadUrl, absl::Cord(TextOf(refusal)));
  return status;
}

Refusal RefusalOf(const absl::Status& status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return Refusal::REFUSAL_UNSPECIFIED;
  return ParseText<Refusal>(std::string(*payload))
      .value_or(Refusal::REFUSAL_UNSPECIFIED);
}

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(),
                         absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload(
      [&annotated](absl::string_view url, const absl::Cord& payload) {
        annotated.SetPayload(url, payload);
      });
  return annotated;
}

ExitCode ExitCodeFor(const absl::Status& status) {
  if (status.ok()) return ExitCode::EXIT_DONE;
  switch (RefusalOf(status)) {
    case Refusal::LOCKED:
    case Refusal::ABSENT:
      return ExitCode::EXIT_BAD_REQUEST;
    case Refusal::REFUSAL_UNSPECIFIED:
      break;
    default:
      return ExitCode::EXIT_CHECKPOINT_REJECTED;
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::EXIT_BAD_REQUEST;
    case absl::StatusCode::kUnimplemented:
      return ExitCode::EXIT_UNSUPPORTED;
    default:
      return ExitCode::EXIT_TRAINING_FAILED;
  }
}

}  // namespace reprise
