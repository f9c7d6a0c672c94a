#include "trainer/data/fashion_mnist.h"

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "zlib.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kImages[] = "/train-images-idx3-ubyte.gz";
constexpr char kLabels[] = "/train-labels-idx1-ubyte.gz";

std::string U32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(
      deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
      Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in =
      reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = out.size();
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ImagesIdx(uint32_t count) {
  std::string bytes = U32(0x0803) + U32(count) + U32(28) + U32(28);
  for (uint32_t i = 0; i < count * 784; ++i) bytes.push_back(i * 7 % 251);
  return bytes;
}

std::string LabelsIdx(uint32_t count) {
  std::string bytes = U32(0x0801) + U32(count);
  for (uint32_t i = 0; i < count; ++i) bytes.push_back(i % 10);
  return bytes;
}

// A folder with twelve good training samples, to be spoilt.
class FashionMnist : public ::testing::Test {
 protected:
  FashionMnist() {
    folder_ = absl::StrCat(
        ::testing::TempDir(), "/fashion_mnist_test-",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    mkdir(folder_.c_str(), 0755);
    Write(folder_ + kImages, Gzip(ImagesIdx(12)));
    Write(folder_ + kLabels, Gzip(LabelsIdx(12)));
  }

  absl::Status Load(uint64_t limit = 0) {
    return LoadFashionMnist(folder_, Split::kTrain, limit).status();
  }

  void ExpectDamaged(const std::string& name, const std::string& text) {
    absl::Status status = Load();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(folder_ + name), HasSubstr(text)));
  }

  std::string folder_;
};

TEST_F(FashionMnist, ReadsImagesAndLabels) {
  auto data = LoadFashionMnist(folder_, Split::kTrain, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->name, "fashion_mnist");
  EXPECT_EQ(data->size, 12);
  EXPECT_EQ(data->channels, 1);
  EXPECT_EQ(data->height, 28);
  EXPECT_EQ(data->width, 28);
  EXPECT_EQ(data->classes, 10);
  EXPECT_EQ(data->images.size(), 12u * 784);
  EXPECT_EQ(data->image(3)[5], (3 * 784 + 5) * 7 % 251);
  EXPECT_EQ(data->labels[11], 1);
}

TEST_F(FashionMnist, TakesTheFirstSamplesUpToTheLimit) {
  auto data = LoadFashionMnist(folder_, Split::kTrain, 5);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->size, 5);
  EXPECT_EQ(data->images.size(), 5u * 784);
  EXPECT_EQ(data->labels.size(), 5u);
  EXPECT_TRUE(Load(12).ok());
  EXPECT_EQ(Load(13).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FashionMnist, FindsTheInstalledDataSetWhole) {
  auto train = LoadFashionMnist("", Split::kTrain, 0);
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_EQ(train->size, 60000);
  auto test = LoadFashionMnist("", Split::kTest, 0);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ(test->size, 10000);
  std::array<int, 10> counts{};
  for (uint8_t label : train->labels) ++counts[label];
  for (int count : counts) EXPECT_EQ(count, 6000);
  EXPECT_EQ(train->labels[0], 9);  // an ankle boot
}

TEST_F(FashionMnist, PrefersTheRunfilesToTheInstalledCopy) {
  absl::StatusOr<std::string> place = FindFashionMnist("");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_THAT(*place, HasSubstr(".runfiles/fashion_mnist"));
}

TEST_F(FashionMnist, GivenFolderWinsAndIsNotReplacedWhenEmpty) {
  absl::StatusOr<std::string> place = FindFashionMnist("/nonexistent");
  EXPECT_EQ(place.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(place.status().message()), HasSubstr("/nonexistent"));
  EXPECT_EQ(*FindFashionMnist(folder_), folder_);
}

TEST_F(FashionMnist, MissingLabelsAreNotFound) {
  remove((folder_ + kLabels).c_str());
  EXPECT_EQ(Load().code(), absl::StatusCode::kNotFound);
}

TEST_F(FashionMnist, RefusesEveryTruncationOfTheCompressedFile) {
  std::string whole = Gzip(LabelsIdx(12));
  for (size_t size = 0; size < whole.size(); ++size) {
    Write(folder_ + kLabels, whole.substr(0, size));
    ExpectDamaged(kLabels, "the compressed data end early");
  }
}

TEST_F(FashionMnist, NoFlippedBitOfTheCompressedDataChangesALabel) {
  std::string whole = Gzip(LabelsIdx(12));
  auto good = LoadFashionMnist(folder_, Split::kTrain, 0);
  ASSERT_TRUE(good.ok()) << good.status();
  int harmless = 0;
  // The ten header bytes hold a time and a system that mean nothing here.
  for (size_t byte = 10; byte < whole.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string spoilt = whole;
      spoilt[byte] ^= 1 << bit;
      Write(folder_ + kLabels, spoilt);
      auto data = LoadFashionMnist(folder_, Split::kTrain, 0);
      if (data.ok()) {
        ++harmless;
        EXPECT_EQ(data->labels, good->labels)
            << "byte " << byte << " bit " << bit;
      } else {
        EXPECT_EQ(data.status().code(), absl::StatusCode::kDataLoss);
      }
    }
  }
  // Only the bits that pad the last compressed block to a byte.
  EXPECT_LT(harmless, 8);
}

TEST_F(FashionMnist, RefusesBytesAfterTheCompressedData) {
  Write(folder_ + kLabels, Gzip(LabelsIdx(12)) + "x");
  ExpectDamaged(kLabels, "expected the file to end with its gzip data");
  Write(folder_ + kLabels, Gzip(LabelsIdx(12)) + Gzip("x"));
  ExpectDamaged(kLabels, "expected the file to end with its gzip data");
}

TEST_F(FashionMnist, RefusesAFileThatIsNotGzip) {
  Write(folder_ + kLabels, LabelsIdx(12));
  ExpectDamaged(kLabels, "damaged gzip data");
}

TEST_F(FashionMnist, RefusesAnotherMagic) {
  Write(folder_ + kImages, Gzip(LabelsIdx(600)));
  ExpectDamaged(kImages,
                "expected IDX magic 00000803 (3 dimensions of bytes), found "
                "00000801");
}

TEST_F(FashionMnist, RefusesACutHeader) {
  Write(folder_ + kImages, Gzip(ImagesIdx(12).substr(0, 15)));
  ExpectDamaged(kImages, "expected 16 bytes of IDX header, found 15");
}

TEST_F(FashionMnist, RefusesFewerOrMoreElementsThanAnnounced) {
  std::string labels = LabelsIdx(12);
  Write(folder_ + kLabels, Gzip(labels.substr(0, labels.size() - 1)));
  ExpectDamaged(kLabels, "expected 12 bytes of IDX elements, found 11");
  Write(folder_ + kLabels, Gzip(labels + '\1'));
  ExpectDamaged(kLabels, "expected the end of the uncompressed data");
}

TEST_F(FashionMnist, RefusesHugeAnnouncedSizesWithoutAllocatingThem) {
  Write(folder_ + kImages, Gzip(U32(0x0803) + U32(0xFFFFFFFF) +
                                U32(0xFFFFFFFF) + U32(0xFFFFFFFF)));
  ExpectDamaged(kImages, "expected at most 1073741824 elements");
  Write(folder_ + kImages,
        Gzip(U32(0x0803) + U32(1 << 20) + U32(28) + U32(28)));
  ExpectDamaged(kImages, "expected 822083584 bytes of IDX elements, found 0");
}

TEST_F(FashionMnist, RefusesOtherImageSizes) {
  std::string images =
      U32(0x0803) + U32(12) + U32(28) + U32(27) + std::string(12 * 756, 0);
  Write(folder_ + kImages, Gzip(images));
  ExpectDamaged(kImages,
                "expected images of 28 x 28, found shape [12, 28, 27]");
}

TEST_F(FashionMnist, RefusesAnotherNumberOfLabels) {
  Write(folder_ + kLabels, Gzip(LabelsIdx(11)));
  ExpectDamaged(kLabels, "expected 12 labels");
}

TEST_F(FashionMnist, RefusesLabelsOutOfRange) {
  std::string labels = LabelsIdx(12);
  labels[8 + 6] = 10;
  Write(folder_ + kLabels, Gzip(labels));
  ExpectDamaged(kLabels, "expected labels of 0 to 9, found 10 for sample 6");
}

}  // namespace
}  // namespace reprise
