#include "format/interop/torch_file.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/interop/testing/describe_values.h"
#include "format/interop/testing/temporary_file.h"
#include "format/interop/zip_writer.h"
#include "format/refusal.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// An archive with that pickle and one storage of eight bytes.
std::string WithPickle(const std::string& pickle) {
  return WriteTempFile("made.pt", [&](File* file) {
    ZipWriter writer(file);
    absl::Status status = writer.Add("a/data.pkl", pickle);
    if (status.ok()) status = writer.Add("a/data/0", "12345678");
    return status.ok() ? writer.Finish() : status;
  });
}

// A tensor over that storage, with the given numbers as pickle bytes.
std::string TensorPickle(const std::string& elements, const std::string& offset,
                         const std::string& shape, const std::string& strides) {
  return absl::StrCat(
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n((X",
      std::string("\x07\0\0\0", 4), "storagectorch\nFloatStorage\nX",
      std::string("\x01\0\0\0", 4), "0X", std::string("\x03\0\0\0", 4), "cpu",
      elements, "tQ", offset, "(", shape, "t(", strides, "t\x89",
      "ccollections\nOrderedDict\n)RtR.");
}

TEST(TorchFile, ReadsEveryValueThatPythonWrote) {
  for (const char* name : {"everything", "everything_protocol5", "seed_example",
                           "nanogpt", "state_dict"}) {
    const auto file = ReadTorchFile(FileSystem::Real(),
                                    FixturePath(absl::StrCat(name, ".pt")));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(DescribeValues(*file->document.root),
              ReadFixture(absl::StrCat(name, ".txt")))
        << name;
  }
}

TEST(TorchFile, ViewsOfOneStorageShareIt) {
  const auto file =
      ReadTorchFile(FileSystem::Real(), FixturePath("everything.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  const Tensor* base = TensorOf(*file->document.root->Get("base"));
  const Tensor* transposed = TensorOf(*file->document.root->Get("transposed"));
  const Tensor* rows = TensorOf(*file->document.root->Get("rows"));
  EXPECT_EQ(base->data(), transposed->data());
  EXPECT_EQ(static_cast<const char*>(rows->data()) -
                static_cast<const char*>(base->data()),
            24);
  EXPECT_EQ(base->storage()->id, rows->storage()->id);
  EXPECT_EQ(rows->storage()->offset, 24);
}

TEST(TorchFile, WhatIsWrittenReadsBackAndIsTheSameEachTime) {
  const auto file =
      ReadTorchFile(FileSystem::Real(), FixturePath("everything.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string path = WriteTempTorchFile("again.pt", *file->document.root);
  const auto again = ReadTorchFile(FileSystem::Real(), path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(DescribeValues(*again->document.root),
            ReadFixture("everything.txt"));
  const Tensor* channels_last =
      TensorOf(*again->document.root->Get("channels_last"));
  EXPECT_EQ(channels_last->DimensionOrder(),
            (std::vector<uint32_t>{0, 2, 3, 1}));
  const auto bytes = ReadSmallFile(FileSystem::Real(), path, 1 << 20);
  const auto twice = ReadSmallFile(
      FileSystem::Real(), WriteTempTorchFile("twice.pt", *again->document.root),
      1 << 20);
  ASSERT_TRUE(bytes.ok() && twice.ok());
  EXPECT_EQ(*bytes, *twice);
}

// tools/parity/run.sh interop opened this very file with torch.load.
TEST(TorchFile, WritesTheFileThatPythonWasShownToRead) {
  const auto file =
      ReadTorchFile(FileSystem::Real(), FixturePath("everything.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto bytes = ReadSmallFile(
      FileSystem::Real(), WriteTempTorchFile("shown.pt", *file->document.root),
      1 << 20);
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(*bytes == ReadFixture("written_by_reprise.pt"));
}

TEST(TorchFile, TensorBytesBeginAtMultiplesOf64) {
  const auto file =
      ReadTorchFile(FileSystem::Real(), FixturePath("seed_example.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto bytes = ReadSmallFile(
      FileSystem::Real(),
      WriteTempTorchFile("aligned.pt", *file->document.root), 1 << 20);
  ASSERT_TRUE(bytes.ok());
  const Tensor* weight =
      TensorOf(*file->document.root->Get("model")->Get("conv.weight"));
  const size_t at = bytes->find(std::string(weight->bytes()));
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(at % 64, 0);
}

TEST(TorchFile, C36_RefusesOtherKindsOfFilesByName) {
  const struct {
    std::string path;
    const char* says;
  } kCases[] = {
      {FixturePath("before_torch_1_6.pt"), "pickle"},
      {FixturePath("torchscript.pt"), "TorchScript"},
      {FixturePath("everything.safetensors"), "safetensors"},
      {FixturePath("everything.txt"), "text file"},
      {WriteTempFile("empty.pt", ""), "an empty file"},
  };
  for (const auto& c : kCases) {
    const auto file = ReadTorchFile(FileSystem::Real(), c.path);
    EXPECT_EQ(RefusalOf(file.status()), Refusal::NOT_A_CHECKPOINT)
        << c.path << file.status();
    EXPECT_TRUE(absl::StrContains(file.status().message(), c.says))
        << file.status();
  }
}

TEST(TorchFile, C36_RefusesWhatIsNotPlainStateByNameAndRunsNothing) {
  const auto numpy =
      ReadTorchFile(FileSystem::Real(), FixturePath("numpy_scalar.pt"));
  EXPECT_EQ(numpy.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(numpy.status().message(), "numpy"))
      << numpy.status();
  const std::string marker = TempPath("executed");
  const std::string command = absl::StrCat("touch ", marker);
  std::string pickle =
      "\x80\x02"
      "cposix\nsystem\n(X";
  pickle += static_cast<char>(command.size());
  pickle += std::string("\0\0\0", 3) + command + "tR.";
  const auto evil = ReadTorchFile(FileSystem::Real(), WithPickle(pickle));
  EXPECT_EQ(evil.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(evil.status().message(), "posix.system"))
      << evil.status();
  EXPECT_FALSE(FileSystem::Real()->Stat(marker).ok());
}

TEST(TorchFile, C36_RefusesTensorsThatReachOutsideTheirStorage) {
  const std::string two = "K\x02", huge =
                                       "\x8a\x08"
                                       "\xff\xff\xff\xff\xff\xff\xff\x7f";
  const struct {
    const char* what;
    std::string elements, offset, shape, strides;
    const char* says;
  } kCases[] = {
      {"more elements than the entry", "K\x03", "K\x01", two, "K\x01",
       "expected 3 elements"},
      {"offset beyond the end", two, "K\x02", two, "K\x01", "ends at element"},
      {"negative offset", two, "J\xff\xff\xff\xff", two, "K\x01",
       "expected a storage"},
      {"long stride", two, "K\x01", two, "K\x05", "ends at element"},
      {"overflowing stride", two, "K\x01", "K\x03", huge, "beyond 2^63"},
      {"overflowing shape", two, "K\x01", huge + huge, std::string("K\0K\0", 4),
       "expanded view"},
      {"negative size", two, "K\x01", "J\xff\xff\xff\xff", "K\x01", "no count"},
      {"fewer strides than sizes", two, "K\x01", two + two, "K\x01", "strides"},
  };
  for (const auto& c : kCases) {
    const auto file = ReadTorchFile(
        FileSystem::Real(),
        WithPickle(TensorPickle(c.elements, c.offset, c.shape, c.strides)));
    EXPECT_FALSE(file.ok()) << c.what;
    EXPECT_TRUE(absl::StrContains(file.status().message(), c.says))
        << c.what << ": " << file.status();
  }
  const auto good = ReadTorchFile(
      FileSystem::Real(),
      WithPickle(TensorPickle(two, std::string("K\0", 2), two, "K\x01")));
  EXPECT_TRUE(good.ok()) << good.status();
}

TEST(TorchFile, C24_RefusesEveryTruncationAndFlippedByte) {
  const std::string bytes = ReadFixture("state_dict.pt");
  const std::string expected = ReadFixture("state_dict.txt");
  ASSERT_FALSE(bytes.empty());
  std::set<Refusal> seen;
  for (size_t size = 0; size < bytes.size(); size += 7) {
    const auto file = ReadTorchFile(
        FileSystem::Real(), WriteTempFile("cut.pt", bytes.substr(0, size)));
    ASSERT_FALSE(file.ok()) << size;
    seen.insert(RefusalOf(file.status()));
  }
  EXPECT_TRUE(seen.count(Refusal::TRUNCATED));
  // What no checksum of a zip covers (times, flags, names of no consequence)
  // may change; then the values are what they were.
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::string flipped = bytes;
    flipped[at] ^= 0x10;
    const auto file =
        ReadTorchFile(FileSystem::Real(), WriteTempFile("flipped.pt", flipped));
    if (file.ok()) {
      EXPECT_EQ(DescribeValues(*file->document.root), expected) << at;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(TorchFile, MissingFileIsAbsent) {
  const auto file = ReadTorchFile(FileSystem::Real(), TempPath("nowhere.pt"));
  EXPECT_EQ(RefusalOf(file.status()), Refusal::ABSENT);
}

}  // namespace
}  // namespace reprise
