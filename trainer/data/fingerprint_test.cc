#include "trainer/data/fingerprint.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "trainer/data/synthetic.h"

namespace reprise {
namespace {

Dataset Images() {
  MakeSyntheticOptions options;
  options.size = 20;
  return MakeSynthetic(options);
}

TEST(FingerprintOf, IsTheDigestOfTheSpecification) {
  Dataset tiny;
  tiny.name = "tiny";
  tiny.size = 2;
  tiny.channels = tiny.height = 1;
  tiny.width = 3;
  tiny.classes = 4;
  tiny.images = {0, 1, 2, 253, 254, 255};
  tiny.labels = {3, 0};
  // Computed with xxHash's Python binding over struct.pack("<Q", 4) + b"tiny" +
  // struct.pack("<5Q", 2, 1, 1, 3, 4) + bytes([0, 1, 2, 253, 254, 255, 3, 0]).
  EXPECT_EQ(absl::BytesToHexString(FingerprintOf(tiny).digest),
            "252b7299d97607027a863fb0bf10c155");
  EXPECT_EQ(FingerprintOf(tiny).algorithm, "xxh3-128-samples-v1");
  EXPECT_EQ(FingerprintOf(tiny).samples, 2u);
  Dataset text;
  text.name = "text";
  text.size = 2;
  text.classes = 256;
  text.sequence_length = 3;
  text.text = {'a', 'b', 'c', 'd', 'e', 'f', 'g'};
  // struct.pack("<Q", 4) + b"text" + struct.pack("<6Q", 2, 0, 0, 0, 256, 3) +
  // b"abcdefg".
  EXPECT_EQ(absl::BytesToHexString(FingerprintOf(text).digest),
            "7266a5322b8f8cf227e450f89bceeb6e");
}

TEST(CheckFingerprint, C15_RefusesDataThatAreOtherInAnyWay) {
  const Dataset data = Images();
  const DataFingerprint saved = FingerprintOf(data);
  EXPECT_TRUE(CheckFingerprint(saved, Images()).ok());
  void (*const changes[])(Dataset*) = {
      [](Dataset* d) { d->images[0] ^= 1; },
      [](Dataset* d) { d->images.back() ^= 128; },
      [](Dataset* d) { d->labels[7] ^= 1; },
      [](Dataset* d) { std::swap(d->images[0], d->images[784]); },
      [](Dataset* d) { d->name = "other"; },
      [](Dataset* d) { d->classes = 11; },
      [](Dataset* d) { std::swap(d->height = 14, d->width = 56); },
      [](Dataset* d) {
        --d->size;
        d->labels.pop_back();
        d->images.resize(d->size * d->image_bytes());
      },
  };
  for (const auto change : changes) {
    Dataset other = Images();
    change(&other);
    const absl::Status status = CheckFingerprint(saved, other);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message().find("data.fingerprint: "), 0u) << status;
  }
  DataFingerprint another = saved;
  another.algorithm = "sha256-files-v1";
  EXPECT_FALSE(CheckFingerprint(another, data).ok());
}

}  // namespace
}  // namespace reprise
