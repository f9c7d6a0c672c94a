#include "trainer/data/from_config.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

trainer::v1::DataConfig Synthetic() {
  trainer::v1::DataConfig config;
  config.set_name("synthetic");
  config.set_synthetic_size(6);
  config.set_train_limit(20);
  return config;
}

TEST(DatasetFromConfig, TakesTheSizesAndTheSplitThatAreAskedFor) {
  const auto train = DatasetFromConfig(Synthetic(), "", Split::kTrain);
  const auto test = DatasetFromConfig(Synthetic(), "", Split::kTest);
  ASSERT_TRUE(train.ok() && test.ok()) << train.status() << test.status();
  EXPECT_EQ(train->size, 20);
  EXPECT_EQ(train->height, 6);
  EXPECT_EQ(train->width, 6);
  EXPECT_EQ(test->size, 1000);  // no limit
  EXPECT_NE(std::string(train->image(0), train->image(1)),
            std::string(test->image(0), test->image(1)));
}

TEST(DatasetFromConfig, FilesThatAreNotThereAreNamed) {
  for (const char* name : {"fashion_mnist", "text"}) {
    trainer::v1::DataConfig config = Synthetic();
    config.set_name(name);
    config.set_sequence_length(16);
    const auto data =
        DatasetFromConfig(config, "/nonexistent/data", Split::kTrain);
    ASSERT_FALSE(data.ok()) << name;
    EXPECT_THAT(std::string(data.status().message()),
                HasSubstr("/nonexistent/data"));
  }
}

}  // namespace
}  // namespace reprise
