#include "conformance/runner/event_tail.h"

#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "conformance/runner/testing/script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::HasSubstr;

void Append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

TEST(EventTail, GivesEveryEventOnceHoweverItIsWritten) {
  const std::string text =
      "{\"start\":{}}\n\n{\"step\":{\"step\":\"1\"}}\r\n{\"step\":{\"step\":2,"
      "\"later\":[1]}}\n{\"kind_of_later\":{}}\n";
  for (size_t cut = 0; cut <= text.size(); cut += 3) {
    const std::string path = FreshFolder("tail") + "/events";
    EventTail tail(path, EventTail::Limits());
    std::vector<Event> events;
    EXPECT_TRUE(tail.Read(&events).ok()) << "not there yet";
    Append(path, text.substr(0, cut));
    EXPECT_TRUE(tail.Read(&events).ok());
    Append(path, text.substr(cut));
    EXPECT_TRUE(tail.Read(&events).ok());
    EXPECT_TRUE(tail.Read(&events).ok());
    ASSERT_EQ(events.size(), 4) << cut;
    EXPECT_EQ(events[1].step().step(), 1);
    EXPECT_EQ(events[2].step().step(), 2);
    EXPECT_EQ(events[3].kind_case(), Event::KIND_NOT_SET);
    EXPECT_EQ(tail.lines(), 5);
    EXPECT_EQ(tail.torn_bytes(), 0);
  }
}

TEST(EventTail, KeepsACutLastLineApart) {
  const std::string path = FreshFolder("tail") + "/events";
  Append(path, "{\"start\":{}}\n{\"ste");
  EventTail tail(path, EventTail::Limits());
  std::vector<Event> events;
  EXPECT_TRUE(tail.Read(&events).ok());
  EXPECT_EQ(events.size(), 1);
  EXPECT_EQ(tail.torn_bytes(), 5);
  EXPECT_EQ(tail.torn_text(), "{\"ste");
}

TEST(EventTail, SaysWhichLineIsNoEventAndStaysWithIt) {
  const std::string path = FreshFolder("tail") + "/events";
  Append(path, "{\"start\":{}}\n{\"step\":7}\n{\"end\":{}}\n");
  EventTail tail(path, EventTail::Limits());
  std::vector<Event> events;
  const absl::Status status = tail.Read(&events);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("line 2 "));
  EXPECT_EQ(events.size(), 1) << "what came before is kept";
  EXPECT_EQ(tail.Read(&events), status);
  EXPECT_EQ(events.size(), 1);
}

TEST(EventTail, NoticesAFileThatShrinksOrIsReplaced) {
  const std::string path = FreshFolder("tail") + "/events";
  Append(path, "{\"start\":{}}\n");
  std::vector<Event> events;
  {
    EventTail tail(path, EventTail::Limits());
    EXPECT_TRUE(tail.Read(&events).ok());
    ASSERT_EQ(truncate(path.c_str(), 3), 0);
    EXPECT_EQ(tail.Read(&events).code(), absl::StatusCode::kDataLoss);
  }
  EventTail tail(path, EventTail::Limits());
  EXPECT_TRUE(tail.Read(&events).ok());
  WriteFile(path + "-new", "{\"start\":{}}\n");
  ASSERT_EQ(rename((path + "-new").c_str(), path.c_str()), 0);
  EXPECT_EQ(tail.Read(&events).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace reprise::conformance
