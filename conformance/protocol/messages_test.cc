#include "conformance/protocol/messages.h"

#include <fstream>

#include "format/refusal.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

RunRequest Whole() {
  RunRequest request;
  request.set_protocol("1");
  request.set_run_folder("/tmp/run");
  request.set_events("/tmp/events.jsonl");
  request.set_workload("T1");
  request.set_seed(18446744073709551615u);
  request.set_steps(300);
  request.set_save_every(10);
  request.set_resume(RunRequest::REQUIRED);
  auto* hold = request.add_hold_at();
  hold->set_step(60);
  hold->set_point(v1::S5);
  request.add_inject_overflow(5);
  request.set_accumulation(4);
  auto* setting = request.add_settings();
  setting->set_name("dropout");
  setting->set_value("0.5");
  return request;
}

Description Able() {
  Description description;
  description.set_protocol("1");
  description.set_name("able");
  description.add_workloads("T0");
  description.add_workloads("T1");
  description.add_features("inject_overflow");
  description.add_features("accumulation");
  description.add_hold_points(v1::S5);
  return description;
}

TEST(Messages, RequestSurvivesItsFile) {
  std::string path = testing::TempDir() + "/request.json";
  ASSERT_TRUE(WriteRequest(path, Whole()).ok());
  auto read = ReadRequest(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), Whole().SerializeAsString());
}

TEST(Messages, DescriptionSurvivesItsFile) {
  Description description = Able();
  description.set_determinism(v1::EXACT);
  description.add_digests(vocabulary::v1::SCALER_SCALE);
  std::string path = testing::TempDir() + "/description.json";
  ASSERT_TRUE(WriteDescription(path, description).ok());
  auto read = ReadDescription(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), description.SerializeAsString());
}

TEST(Messages, WritesSchemaNamesAndEnumNames) {
  std::string json = *ToJson(Whole());
  EXPECT_NE(json.find("\"run_folder\":\"/tmp/run\""), std::string::npos)
      << json;
  EXPECT_NE(json.find("\"resume\":\"REQUIRED\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"point\":\"S5\""), std::string::npos) << json;
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

TEST(Messages, ReadsCamelCaseAndNumbersAsNumberOrString) {
  RunRequest request;
  ASSERT_TRUE(
      FromJson(R"({"runFolder": "/r", "steps": 300, "seed": "7"})", &request)
          .ok());
  EXPECT_EQ(request.run_folder(), "/r");
  EXPECT_EQ(request.steps(), 300u);
  EXPECT_EQ(request.seed(), 7u);
}

TEST(Messages, IgnoresUnknownFieldsAndReadsNullAsAbsent) {
  Event event;
  ASSERT_TRUE(FromJson(R"({"step": {"step": 3, "colour": {"a": [1]},
                          "loss": {"v": null, "bits": "7f800000"}}})",
                       &event)
                  .ok());
  EXPECT_EQ(event.step().step(), 3u);
  EXPECT_FALSE(event.step().loss().has_v());
}

TEST(Messages, SaysWhatIsWrongAndWhere) {
  std::string path = testing::TempDir() + "/broken.json";
  std::ofstream(path) << "{\"steps\": \"many\"}";
  absl::Status status = ReadRequest(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(path), std::string::npos);
  EXPECT_NE(status.message().find("many"), std::string::npos) << status;
  std::ofstream(path) << "{\"steps\": }";
  status = ReadRequest(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status;
  EXPECT_EQ(ReadRequest(path + ".absent").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(CheckRequest, AcceptsWhatIsDescribed) {
  EXPECT_TRUE(CheckRequest(Able(), Whole()).ok())
      << CheckRequest(Able(), Whole());
}

TEST(CheckRequest, EndsWithUnsupportedForWhatIsNotDescribed) {
  auto unsupported = [](void (*change)(RunRequest*)) {
    RunRequest request = Whole();
    change(&request);
    return ExitCodeFor(CheckRequest(Able(), request)) ==
           ExitCode::EXIT_UNSUPPORTED;
  };
  EXPECT_TRUE(unsupported([](RunRequest* r) { r->set_protocol("2"); }));
  EXPECT_TRUE(unsupported([](RunRequest* r) { r->set_workload("T9"); }));
  EXPECT_TRUE(
      unsupported([](RunRequest* r) { r->add_required_features("ema"); }));
  EXPECT_TRUE(unsupported([](RunRequest* r) { r->set_precision("bf16"); }));
  EXPECT_TRUE(unsupported(
      [](RunRequest* r) { r->mutable_hold_at(0)->set_point(v1::P0); }));
}

TEST(CheckRequest, EndsWithBadRequestForNonsense) {
  auto bad = [](void (*change)(RunRequest*)) {
    RunRequest request = Whole();
    change(&request);
    return ExitCodeFor(CheckRequest(Able(), request)) ==
           ExitCode::EXIT_BAD_REQUEST;
  };
  EXPECT_TRUE(bad([](RunRequest* r) { r->set_run_folder("run"); }));
  EXPECT_TRUE(bad([](RunRequest* r) { r->clear_events(); }));
  EXPECT_TRUE(bad([](RunRequest* r) { r->set_steps(0); }));
  EXPECT_TRUE(bad([](RunRequest* r) { r->set_accumulation(0); }));
}

}  // namespace
}  // namespace reprise::conformance
