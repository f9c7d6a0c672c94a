#include "format/interop/pickle.h"

#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/interop/testing/describe_values.h"
#include "format/refusal.h"
#include "format/testing/random_damage.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

absl::StatusOr<std::string> Read(absl::string_view bytes) {
  PickleHost host;
  absl::StatusOr<PyDocument> document = ReadPickle(bytes, &host);
  if (!document.ok()) return document.status();
  return DescribeValues(*document->root);
}

std::string P(absl::string_view rest) { return absl::StrCat("\x80\x02", rest); }

TEST(Pickle, ReadsIntegersOfEveryWidth) {
  const struct {
    std::string bytes;
    const char* says;
  } kCases[] = {
      {std::string("K\0.", 3), " int 0\n"},
      {"K\xff.", " int 255\n"},
      {"M\xff\xff.", " int 65535\n"},
      {"J\xff\xff\xff\xff.", " int -1\n"},
      {std::string("\x8a\0.", 3), " int 0\n"},
      {"\x8a\x01\xff.", " int -1\n"},
      {"\x8a\x02\xff\x7f.", " int 32767\n"},
      {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.",
       " int 9223372036854775807\n"},
      {std::string("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0.", 12),
       " int 18446744073709551615\n"},
  };
  for (const auto& c : kCases) {
    const auto text = Read(P(c.bytes));
    ASSERT_TRUE(text.ok()) << c.says << text.status();
    EXPECT_EQ(*text, c.says);
  }
}

TEST(Pickle, C36_RefusesIntegersThatDoNotFit) {
  for (const std::string& bytes :
       {std::string("\x8a\x0a\0\0\0\0\0\0\0\0\x01\0.", 13),
        std::string("\x8a\x09\0\0\0\0\0\0\0\0\xff.", 12)}) {
    EXPECT_EQ(Read(P(bytes)).status().code(), absl::StatusCode::kUnimplemented);
  }
}

TEST(Pickle, ALaterEntryReplacesAnEarlierOne) {
  PickleHost host;
  const auto document =
      ReadPickle(P(absl::StrCat("}(X", std::string("\x01\0\0\0", 4), "aK\x01X",
                                std::string("\x01\0\0\0", 4), "aK\x02u.")),
                 &host);
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->root->Get("a")->integer, 2);
}

TEST(Pickle, C36_RefusesMalformedProgramsByOffset) {
  for (const std::string& bytes :
       {std::string(""), std::string("."), std::string("K"), std::string("a."),
        std::string("]e."), std::string("t."), std::string("}(K\1u."),
        std::string("h\7."), std::string("NN."), std::string("(N."),
        std::string("NR."), std::string("X\xff\xff\xff\xff."),
        std::string("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."),
        std::string("X\1\0\0\0\xff.", 7), std::string("\x86."),
        std::string("(]a.")}) {
    const auto text = Read(P(bytes));
    EXPECT_FALSE(text.ok()) << bytes;
    EXPECT_TRUE(absl::StrContains(text.status().message(), "pickle, offset"))
        << text.status();
  }
}

TEST(Pickle, C36_RefusesOperationsThatRunCode) {
  for (const char* bytes :
       {"cos\nsystem\n.", "(ios\nsystem\n.", "(oN.", "\x82\x01.", "P1\n.",
        "cbuiltins\neval\n)R.", "\x8c\x02os\x8c\x06system\x93."}) {
    const auto text = Read(P(bytes));
    EXPECT_EQ(text.status().code(), absl::StatusCode::kUnimplemented)
        << bytes << text.status();
  }
}

TEST(Pickle, C36_ListsThatContainThemselvesAreHeldWithoutHarm) {
  PickleHost host;
  const auto document = ReadPickle(P(std::string("]q\0h\0a.", 7)), &host);
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->root->items[0], document->root);
}

TEST(Pickle, C36_DeepNestingNeedsNoStack) {
  std::string bytes = P("");
  for (int i = 0; i < 400000; ++i) bytes += ']';
  for (int i = 1; i < 400000; ++i) bytes += 'a';
  PickleHost host;
  EXPECT_TRUE(ReadPickle(bytes + ".", &host).ok());
}

TEST(Pickle, C36_LimitsValuesAndCopies) {
  PickleHost host;
  std::string many = P("(");
  many.append(1100000, 'N');
  EXPECT_EQ(RefusalOf(ReadPickle(many + "t.", &host).status()), Refusal::LIMIT);
  // A list of 1,000 pairs, turned into a dict two thousand times.
  std::string copies = P("(");
  for (int i = 0; i < 1000; ++i) copies += "NN\x86";
  copies = absl::StrCat(P(""), "](", copies.substr(3), std::string("eq\0", 3));
  for (int i = 0; i < 2000; ++i) {
    copies += absl::StrCat("0ccollections\nOrderedDict\n",
                           std::string("h\0", 2), "\x85R");
  }
  EXPECT_EQ(RefusalOf(ReadPickle(copies + ".", &host).status()),
            Refusal::LIMIT);
}

TEST(Pickle, C36_RandomProgramsAreReadOrRefused) {
  std::mt19937_64 random(RandomSeed("//format/interop:pickle_test"));
  // Bytes that are operations come often.
  const std::string operations =
      "\x80\x88\x89\x8a\x8c\x85\x86\x87\x8f\x90\x93\x94\x95.(01NJKMGXUCTB]})"
      "taesuqrhjcRbQ";
  PickleHost host;
  int read = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string bytes = P("");
    const size_t size = random() % 24;
    for (size_t b = 0; b < size; ++b) {
      bytes += random() % 4 == 0 ? static_cast<char>(random() % 6)
                                 : operations[random() % operations.size()];
    }
    read += ReadPickle(bytes + ".", &host).ok();
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace reprise
