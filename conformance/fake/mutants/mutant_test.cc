#include "conformance/fake/mutants/mutant.h"

#include "gtest/gtest.h"

namespace reprise::conformance::fake {
namespace {

TEST(Mutants, ExpectOnlyWordsOfTheVocabulary) {
  for (const Mutant& mutant : Mutants()) {
    auto parsed = ParseExpected(mutant.expected);
    ASSERT_TRUE(parsed.ok()) << mutant.id << ": " << parsed.status();
    EXPECT_EQ(parsed->empty(), mutant.id == "M60") << mutant.id;
  }
}

TEST(Mutants, ExpectedIsAllOfAnyOf) {
  auto parsed =
      ParseExpected("optim.moments:RESET + optim.step:RESET / run:SHORT");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].size(), 1u);
  ASSERT_EQ((*parsed)[1].size(), 2u);
  EXPECT_EQ((*parsed)[1][1].item, Item::RUN);
  EXPECT_EQ((*parsed)[1][1].fault, Fault::FAULT_SHORT);
}

TEST(Mutants, UnknownWordsAndIdsAreErrors) {
  EXPECT_FALSE(ParseExpected("optim.moment:RESET").ok());
  EXPECT_FALSE(ParseExpected("optim.moments:LOST").ok());
  EXPECT_NE(FindMutants("M03,M00").status().message().find("M00"),
            std::string::npos);
}

TEST(Mutants, AreFoundOneByOneAndTogether) {
  EXPECT_EQ(FindMutant("M21")->id, "M21");
  EXPECT_EQ(FindMutant("M2"), nullptr);
  auto both = FindMutants("M03,M21");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ((*both)[1]->id, "M21");
}

TEST(Mutants, EachSaysHowItShows) {
  for (const Mutant& mutant : Mutants()) {
    EXPECT_FALSE(mutant.signature.empty()) << mutant.id;
    EXPECT_FALSE(mutant.kill_steps.empty()) << mutant.id;
    EXPECT_FALSE(mutant.fault.empty()) << mutant.id;
  }
}

}  // namespace
}  // namespace reprise::conformance::fake
