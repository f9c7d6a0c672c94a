#include "format/vocabulary.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::UnorderedElementsAre;

template <typename E>
class VocabularyEnum : public ::testing::Test {};

using Enums = ::testing::Types<Item, Fault, Presence, ResumeRule, ResumeLevel,
                               Refusal, ExitCode>;
TYPED_TEST_SUITE(VocabularyEnum, Enums);

TYPED_TEST(VocabularyEnum, EveryValueHasItsOwnTextThatParsesBack) {
  const google::protobuf::EnumDescriptor* type =
      google::protobuf::GetEnumDescriptor<TypeParam>();
  std::set<std::string> seen;
  int without_text = 0;
  for (int i = 0; i < type->value_count(); ++i) {
    const std::string& text =
        type->value(i)->options().GetExtension(vocab::text);
    if (text.empty()) {
      ++without_text;
      // Only the invalid zero has no text.
      EXPECT_EQ(type->value(i)->number(), 0) << type->value(i)->full_name();
      continue;
    }
    EXPECT_TRUE(seen.insert(text).second) << "twice: " << text;
    const TypeParam value = static_cast<TypeParam>(type->value(i)->number());
    EXPECT_EQ(TextOf(value), text);
    EXPECT_EQ(ParseText<TypeParam>(text), value) << text;
  }
  EXPECT_GE(seen.size(), 3u);
  EXPECT_LE(without_text, 1);
  EXPECT_EQ(AllValues<TypeParam>().size(), seen.size());
}

TYPED_TEST(VocabularyEnum, RefusesTextsThatAreNotCanonical) {
  for (const char* text : {"", "Scaler.Scale", "no such word", " SAVED"}) {
    EXPECT_EQ(ParseText<TypeParam>(text), std::nullopt) << text;
  }
}

TEST(Vocabulary, TextsAreTheOnesThatTheSpecificationUses) {
  EXPECT_EQ(TextOf(Item::SCALER_GROWTH_TRACKER), "scaler.growth_tracker");
  EXPECT_EQ(TextOf(Fault::FAULT_SIDE_EFFECT), "SIDE_EFFECT");
  EXPECT_EQ(TextOf(Presence::PRESENCE_NOT_APPLICABLE), "NOT_APPLICABLE");
  EXPECT_EQ(TextOf(Refusal::TOO_NEW), "TOO_NEW");
  EXPECT_EQ(TextOf(ExitCode::EXIT_CHECKPOINT_REJECTED), "checkpoint rejected");
  EXPECT_EQ(TextOf(ResumeRule::MAY_CHANGE), "MAY_CHANGE");
  EXPECT_THAT(
      AllValues<ResumeLevel>(),
      UnorderedElementsAre(ResumeLevel::BITWISE, ResumeLevel::SAME_ORDER,
                           ResumeLevel::STATISTICAL));
}

TEST(Vocabulary, ExitDoneIsZeroAndHasAText) {
  EXPECT_EQ(static_cast<int>(ExitCode::EXIT_DONE), 0);
  EXPECT_EQ(TextOf(ExitCode::EXIT_DONE), "done");
}

TEST(Vocabulary, NumbersWithoutTextAreShownAsSuch) {
  EXPECT_EQ(TextOf(Item::ITEM_UNSPECIFIED), "Item(0)");
  EXPECT_EQ(TextOf(static_cast<Refusal>(777)), "Refusal(777)");
}

}  // namespace
}  // namespace reprise
