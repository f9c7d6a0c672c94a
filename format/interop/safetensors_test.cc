#include "format/interop/safetensors.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/interop/testing/describe_values.h"
#include "format/interop/testing/temporary_file.h"
#include "format/little_endian.h"
#include "format/refusal.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

std::string WithHeader(const std::string& header, const std::string& data) {
  std::string bytes;
  AppendLittleEndian(static_cast<uint64_t>(header.size()), &bytes);
  return WriteTempFile("made.safetensors", absl::StrCat(bytes, header, data));
}

// As tools/parity/interop.py prints a dict sorted by name.
std::string Lines(std::vector<Tensor> tensors) {
  std::sort(
      tensors.begin(), tensors.end(),
      [](const Tensor& a, const Tensor& b) { return a.name() < b.name(); });
  std::string lines = absl::StrCat(" dict ", tensors.size(), "\n");
  for (const Tensor& tensor : tensors) {
    lines += DescribeTensor(tensor, absl::StrCat("/", tensor.name()));
  }
  return lines;
}

TEST(Safetensors, ReadsEveryTensorThatPythonWrote) {
  const auto file = ReadSafetensors(FileSystem::Real(),
                                    FixturePath("everything.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Lines(file->tensors), ReadFixture("everything_safetensors.txt"));
  ASSERT_EQ(file->metadata.size(), 1);
  EXPECT_EQ(file->metadata[0].first, "format");
  EXPECT_EQ(file->metadata[0].second, "pt");
}

TEST(Safetensors, WhatIsWrittenReadsBack) {
  const auto file = ReadSafetensors(FileSystem::Real(),
                                    FixturePath("everything.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<Tensor> tensors = file->tensors;
  const float values[6] = {0, 1, 2, 3, 4, 5};
  tensors.push_back(Tensor::Strided("columns \"first\"", DType::kF32, {2, 3},
                                    {1, 2}, nullptr, values));
  const std::string path =
      WriteTempFile("written.safetensors", [&](File* file) {
        return WriteSafetensors(tensors, {{"format", "pt"}}, file);
      });
  const auto again = ReadSafetensors(FileSystem::Real(), path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Lines(again->tensors), Lines(tensors));
  EXPECT_EQ(again->metadata, file->metadata);
  for (const Tensor& tensor : again->tensors) EXPECT_TRUE(tensor.IsRowMajor());
}

TEST(Safetensors, C36_RefusesHostileHeaders) {
  const std::string f32 = "\"dtype\":\"F32\",\"shape\":[2]";
  const std::string eight = "12345678";
  const struct {
    std::string header;
    Refusal refusal;
    const char* says;
  } kCases[] = {
      {"{\"w\":{" + f32 + ",\"data_offsets\":[0,4]}}", Refusal::CORRUPT,
       "expected 8 bytes"},
      {"{\"w\":{" + f32 + ",\"data_offsets\":[8,0]}}", Refusal::CORRUPT,
       "ascending"},
      {"{\"w\":{" + f32 + ",\"data_offsets\":[-8,0]}}", Refusal::CORRUPT,
       "ascending"},
      {"{\"w\":{" + f32 + ",\"data_offsets\":[4,12]}}", Refusal::CORRUPT,
       "gap or an overlap"},
      {"{\"w\":{" + f32 + ",\"data_offsets\":[0,8]},\"v\":{" + f32 +
           ",\"data_offsets\":[0,8]}}",
       Refusal::CORRUPT, "gap or an overlap"},
      {"{\"w\":{" + f32 + ",\"data_offsets\":[0,8]},\"v\":{" + f32 +
           ",\"data_offsets\":[8,16]}}",
       Refusal::TRUNCATED, "expected 16 bytes"},
      {"{\"w\":{" + f32 + ",\"data_offsets\":[0,8]},\"w\":{" + f32 +
           ",\"data_offsets\":[0,8]}}",
       Refusal::CORRUPT, "one value a name"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],"
       "\"data_offsets\":[0,8]}}",
       Refusal::CORRUPT, "too large"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
       Refusal::CORRUPT, "no count"},
      {"{\"w\":1}", Refusal::CORRUPT, "expected dtype"},
      {"{\"w\":", Refusal::CORRUPT, "no JSON"},
      {"{}", Refusal::CORRUPT, "expected 0 bytes of tensors"},
  };
  for (const auto& c : kCases) {
    const auto file =
        ReadSafetensors(FileSystem::Real(), WithHeader(c.header, eight));
    EXPECT_EQ(RefusalOf(file.status()), c.refusal) << c.header << file.status();
    EXPECT_TRUE(absl::StrContains(file.status().message(), c.says))
        << file.status();
  }
  std::string deep = "{\"w\":";
  for (int i = 0; i < 100000; ++i) deep += "[";
  EXPECT_FALSE(
      ReadSafetensors(FileSystem::Real(), WithHeader(deep, eight)).ok());
}

TEST(Safetensors, C36_RefusesHeaderLengthsBeyondTheFile) {
  for (uint64_t length :
       {uint64_t{100}, uint64_t{1} << 24, uint64_t{1} << 63}) {
    std::string bytes;
    AppendLittleEndian(length, &bytes);
    const auto file = ReadSafetensors(
        FileSystem::Real(), WriteTempFile("long.safetensors", bytes + "{}"));
    EXPECT_EQ(RefusalOf(file.status()), length > (uint64_t{1} << 24)
                                            ? Refusal::LIMIT
                                            : Refusal::TRUNCATED)
        << file.status();
  }
}

TEST(Safetensors, RefusesOtherFilesAndTypesByName) {
  const auto torch =
      ReadSafetensors(FileSystem::Real(), FixturePath("state_dict.pt"));
  EXPECT_EQ(RefusalOf(torch.status()), Refusal::NOT_A_CHECKPOINT);
  EXPECT_TRUE(absl::StrContains(torch.status().message(), "zip archive"));
  const auto f4 = ReadSafetensors(
      FileSystem::Real(), WithHeader("{\"w\":{\"dtype\":\"F4\",\"shape\":[2],"
                                     "\"data_offsets\":[0,1]}}",
                                     "1"));
  EXPECT_EQ(f4.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(f4.status().message(), "F4"));
}

}  // namespace
}  // namespace reprise
