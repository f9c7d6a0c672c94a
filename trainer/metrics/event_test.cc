#include "trainer/metrics/event.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

StepEvent SomeStep() {
  StepEvent event;
  event.attempt = 2;
  event.step = 469;
  event.epoch = 1;
  event.batch = 0;
  event.samples = 60032;
  event.ids = 0x2D06800538D394C2;
  event.loss = 0.1f;
  event.lr = {0.003, 0.0015};
  event.scale = 65536.0f;
  event.skipped = true;
  event.applied = 467;
  event.gradient_norm = std::numeric_limits<float>::infinity();
  return event;
}

constexpr char kStepLine[] =
    R"({"type":"step","attempt":2,"step":469,"epoch":1,"batch":0,)"
    R"("samples":60032,"ids":"2d06800538d394c2",)"
    R"("loss":{"v":0.1,"bits":"3dcccccd"},)"
    R"("lr":[{"v":0.003,"bits":"3f689374bc6a7efa"},)"
    R"({"v":0.0015,"bits":"3f589374bc6a7efa"}],)"
    R"("scale":{"v":65536,"bits":"47800000"},"skipped":true,"applied":467,)"
    R"("grad_norm":{"v":null,"bits":"7f800000"}})";

constexpr char kEvaluationLine[] =
    R"({"type":"eval","attempt":1,"step":468,)"
    R"("loss":{"v":0.5,"bits":"3fe0000000000000"},)"
    R"("accuracy":{"v":0.75,"bits":"3fe8000000000000"},"samples":10000})";

TEST(Event, StepHasTheDocumentedText) {
  EXPECT_EQ(FormatEvent(SomeStep()), kStepLine);
}

TEST(Event, EvaluationHasTheDocumentedText) {
  EvaluationEvent event;
  event.attempt = 1;
  event.step = 468;
  event.loss = 0.5;
  event.accuracy = 0.75;
  event.samples = 10000;
  EXPECT_EQ(FormatEvent(event), kEvaluationLine);
}

TEST(Event, WithoutScalerTheScaleIsNull) {
  StepEvent event = SomeStep();
  event.scale.reset();
  std::string line = FormatEvent(event);
  EXPECT_THAT(line, HasSubstr(R"("scale":null,"skipped")"));
  EXPECT_FALSE(std::get<StepEvent>(*ParseEvent(line)).scale.has_value());
}

TEST(Event, LinesAreJson) {
  for (std::string line : {kStepLine, kEvaluationLine}) {
    google::protobuf::Struct parsed;
    auto status = google::protobuf::util::JsonStringToMessage(line, &parsed);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(parsed.fields().count("attempt"));
  }
}

TEST(ParseEvent, GivesBackEveryField) {
  auto parsed = ParseEvent(kStepLine);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const StepEvent& event = std::get<StepEvent>(*parsed);
  StepEvent expected = SomeStep();
  EXPECT_EQ(event.attempt, expected.attempt);
  EXPECT_EQ(event.step, expected.step);
  EXPECT_EQ(event.epoch, expected.epoch);
  EXPECT_EQ(event.batch, expected.batch);
  EXPECT_EQ(event.samples, expected.samples);
  EXPECT_EQ(event.ids, expected.ids);
  EXPECT_EQ(event.loss, expected.loss);
  EXPECT_EQ(event.lr, expected.lr);
  EXPECT_EQ(event.scale, expected.scale);
  EXPECT_EQ(event.skipped, expected.skipped);
  EXPECT_EQ(event.applied, expected.applied);
  EXPECT_EQ(event.gradient_norm, expected.gradient_norm);
}

TEST(ParseEvent, WritesBackTheSameLine) {
  EXPECT_EQ(FormatEvent(std::get<StepEvent>(*ParseEvent(kStepLine))),
            kStepLine);
  EXPECT_EQ(
      FormatEvent(std::get<EvaluationEvent>(*ParseEvent(kEvaluationLine))),
      kEvaluationLine);
}

TEST(ParseEvent, RefusesEveryTruncationAndAnyByteAfterTheEnd) {
  for (std::string line : {kStepLine, kEvaluationLine}) {
    for (size_t size = 0; size < line.size(); ++size) {
      EXPECT_FALSE(ParseEvent(line.substr(0, size)).ok()) << size;
      EXPECT_FALSE(ParseEventKey(line.substr(0, size)).has_value() &&
                   line[size - 1] != '}')
          << size;
    }
    EXPECT_FALSE(ParseEvent(line + " ").ok());
  }
}

TEST(ParseEvent, RefusesOtherSpellings) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{
           {R"("step":469)", R"("step":0469)"},
           {R"("step":469)", R"("step":-469)"},
           {R"("step":469)", R"("step":469.0)"},
           {R"("step":469)", R"("step":18446744073709551616)"},
           {R"("step":469)", R"("step": 469)"},
           {"2d06800538d394c2", "2D06800538D394C2"},
           {"3dcccccd", "3dcccc"},
           {R"("v":0.1)", R"("v":0.2)"},
           {R"("v":0.1)", R"("v":0.10)"},
           {R"("v":null)", R"("v":1)"},
           {"true", "1"},
           {R"("type":"step")", R"("type":"note")"}}) {
    std::string line = absl::StrReplaceAll(kStepLine, {{from, to}});
    ASSERT_NE(line, kStepLine) << from;
    EXPECT_EQ(ParseEvent(line).status().code(),
              absl::StatusCode::kInvalidArgument)
        << from << " -> " << to;
  }
}

TEST(ParseEvent, ErrorNamesColumnExpectedAndFound) {
  std::string line = absl::StrReplaceAll(kStepLine, {{"epoch", "epic"}});
  EXPECT_EQ(
      std::string(ParseEvent(line).status().message()),
      R"(column 38: expected ,"epoch":, found ",\"epic\":1,\"batch\":0,")");
}

TEST(ParseEventKey, ReadsTypeAndStepOnly) {
  auto step = ParseEventKey(kStepLine);
  ASSERT_TRUE(step.has_value());
  EXPECT_FALSE(step->is_evaluation);
  EXPECT_EQ(step->step, 469u);
  auto evaluation = ParseEventKey(kEvaluationLine);
  ASSERT_TRUE(evaluation.has_value());
  EXPECT_TRUE(evaluation->is_evaluation);
  EXPECT_EQ(evaluation->step, 468u);
  EXPECT_FALSE(ParseEventKey("").has_value());
  EXPECT_FALSE(ParseEventKey("{}").has_value());
  EXPECT_FALSE(ParseEventKey("{\"type\":\"step\",\"attempt\":1}").has_value());
}

}  // namespace
}  // namespace reprise
