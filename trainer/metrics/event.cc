#include "trainer/metrics/event.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/metrics/number.h"

namespace reprise {
namespace {

constexpr absl::string_view kStepStart = "{\"type\":\"step\",\"attempt\":";
constexpr absl::string_view kEvalStart = "{\"type\":\"eval\",\"attempt\":";
constexpr absl::string_view kStep = ",\"step\":";

// Reads a line from left to right and keeps the first mismatch; what is read
// after one means nothing.
class Scanner {
 public:
  explicit Scanner(absl::string_view line) : line_(line) {}

  bool Peek(absl::string_view text) const {
    return expected_.empty() && line_.substr(at_, text.size()) == text;
  }
  // Takes `text` if it comes next.
  bool Take(absl::string_view text) {
    bool found = Peek(text);
    if (found) at_ += text.size();
    return found;
  }
  void Expect(absl::string_view text) {
    if (!Take(text)) Fail(text);
  }

  uint64_t Count() {
    uint64_t value = 0;
    size_t begin = at_;
    while (at_ < line_.size() && line_[at_] >= '0' && line_[at_] <= '9') {
      uint64_t digit = line_[at_] - '0';
      if (value > (~uint64_t{0} - digit) / 10) break;
      value = 10 * value + digit;
      ++at_;
    }
    if (at_ == begin || (line_[begin] == '0' && at_ - begin > 1)) {
      Fail("a count");
    }
    return value;
  }
  bool Bool() {
    if (Take("true")) return true;
    Expect("false");
    return false;
  }
  // Exactly `digits` lower-case hexadecimal digits.
  uint64_t Hex(int digits) {
    uint64_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      char c = at_ < line_.size() ? line_[at_] : '\0';
      if (c >= '0' && c <= '9') {
        value = value << 4 | (c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value << 4 | (c - 'a' + 10);
      } else {
        Fail("a lower-case hexadecimal digit");
        return 0;
      }
    }
    return value;
  }
  float Float() {
    return Number<float, uint32_t>([](float v) { return JsonFloat(v); });
  }
  double Double() {
    return Number<double, uint64_t>([](double v) { return JsonDouble(v); });
  }

  bool ok() const { return expected_.empty(); }
  absl::Status Finish() {
    if (expected_.empty() && at_ < line_.size()) Fail("the end of the line");
    if (expected_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "column ", failed_at_ + 1, ": expected ", expected_, ", found ",
        failed_at_ < line_.size() ? JsonString(line_.substr(failed_at_, 20))
                                  : "the end of the line"));
  }

 private:
  // `bits` decides; `v` has to be what would be written for them.
  template <typename T, typename Bits, typename Format>
  T Number(Format format) {
    size_t begin = at_;
    Expect("{\"v\":");
    size_t comma = line_.find(',', at_);
    at_ = std::min(comma, line_.size());
    Expect(",\"bits\":\"");
    Bits bits = static_cast<Bits>(Hex(2 * sizeof(Bits)));
    Expect("\"}");
    T value;
    std::memcpy(&value, &bits, sizeof value);
    std::string canonical = format(value);
    if (expected_.empty() &&
        line_.substr(begin, at_ - begin) != absl::string_view(canonical)) {
      at_ = begin;
      Fail(canonical);
    }
    return value;
  }

  void Fail(absl::string_view expected) {
    if (!expected_.empty()) return;
    expected_ = std::string(expected);
    failed_at_ = at_;
  }

  absl::string_view line_;
  size_t at_ = 0;
  std::string expected_;  // not empty: failed
  size_t failed_at_ = 0;
};

StepEvent ScanStep(Scanner* in) {
  StepEvent event;
  event.attempt = in->Count();
  in->Expect(kStep);
  event.step = in->Count();
  in->Expect(",\"epoch\":");
  event.epoch = in->Count();
  in->Expect(",\"batch\":");
  event.batch = in->Count();
  in->Expect(",\"samples\":");
  event.samples = in->Count();
  in->Expect(",\"ids\":\"");
  event.ids = in->Hex(16);
  in->Expect("\",\"loss\":");
  event.loss = in->Float();
  in->Expect(",\"lr\":[");
  while (in->Peek("{")) {
    event.lr.push_back(in->Double());
    if (!in->Take(",")) break;
  }
  in->Expect("],\"scale\":");
  if (!in->Take("null")) event.scale = in->Float();
  in->Expect(",\"skipped\":");
  event.skipped = in->Bool();
  in->Expect(",\"applied\":");
  event.applied = in->Count();
  in->Expect(",\"grad_norm\":");
  event.gradient_norm = in->Float();
  in->Expect("}");
  return event;
}

EvaluationEvent ScanEvaluation(Scanner* in) {
  EvaluationEvent event;
  event.attempt = in->Count();
  in->Expect(kStep);
  event.step = in->Count();
  in->Expect(",\"loss\":");
  event.loss = in->Double();
  in->Expect(",\"accuracy\":");
  event.accuracy = in->Double();
  in->Expect(",\"samples\":");
  event.samples = in->Count();
  if (in->Take(",\"ema_loss\":")) event.ema_loss = in->Double();
  if (in->Take(",\"ema_accuracy\":")) event.ema_accuracy = in->Double();
  if (in->Take(",\"best\":")) event.best = in->Double();
  if (in->Take(",\"bad_count\":")) event.bad_count = in->Count();
  in->Expect("}");
  return event;
}

// `,"key":` and the value, where there is one.
std::string OptionalField(absl::string_view key,
                          const std::optional<double>& value) {
  if (!value.has_value()) return "";
  return absl::StrCat(",\"", key, "\":", JsonDouble(*value));
}

}  // namespace

std::string FormatEvent(const StepEvent& event) {
  return absl::StrCat(
      kStepStart, event.attempt, kStep, event.step, ",\"epoch\":", event.epoch,
      ",\"batch\":", event.batch, ",\"samples\":", event.samples, ",\"ids\":\"",
      Hex64(event.ids), "\",\"loss\":", JsonFloat(event.loss), ",\"lr\":[",
      absl::StrJoin(
          event.lr, ",",
          [](std::string* out, double lr) { out->append(JsonDouble(lr)); }),
      "],\"scale\":",
      event.scale.has_value() ? JsonFloat(*event.scale) : "null",
      ",\"skipped\":", event.skipped ? "true" : "false",
      ",\"applied\":", event.applied,
      ",\"grad_norm\":", JsonFloat(event.gradient_norm), "}");
}

std::string FormatEvent(const EvaluationEvent& event) {
  return absl::StrCat(kEvalStart, event.attempt, kStep, event.step,
                      ",\"loss\":", JsonDouble(event.loss),
                      ",\"accuracy\":", JsonDouble(event.accuracy),
                      ",\"samples\":", event.samples,
                      OptionalField("ema_loss", event.ema_loss),
                      OptionalField("ema_accuracy", event.ema_accuracy),
                      OptionalField("best", event.best),
                      event.bad_count.has_value()
                          ? absl::StrCat(",\"bad_count\":", *event.bad_count)
                          : "",
                      "}");
}

absl::StatusOr<MetricsEvent> ParseEvent(absl::string_view line) {
  Scanner in(line);
  MetricsEvent event;
  if (in.Take(kEvalStart)) {
    event = ScanEvaluation(&in);
  } else {
    in.Expect(kStepStart);
    event = ScanStep(&in);
  }
  absl::Status status = in.Finish();
  if (!status.ok()) return status;
  return event;
}

std::optional<EventKey> ParseEventKey(absl::string_view line) {
  Scanner in(line);
  EventKey key;
  key.is_evaluation = in.Take(kEvalStart);
  if (!key.is_evaluation) in.Expect(kStepStart);
  in.Count();
  in.Expect(kStep);
  key.step = in.Count();
  in.Expect(",");
  // What follows the key is left unread; only a cut line ends before "}".
  if (!in.ok() || line.back() != '}') return std::nullopt;
  return key;
}

}  // namespace reprise
