#include "server/wire/metadata.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace corank::wire {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MetadataTest, GivesAValueOnlyIfThereIsOne) {
  Metadata metadata;
  metadata.Add("one", "1");
  metadata.Add("two", "a");
  metadata.Add("two", "b");
  EXPECT_EQ(metadata.Get("one"), "1");
  EXPECT_EQ(metadata.Get("two"), "");
  EXPECT_EQ(metadata.Get("none"), "");
  EXPECT_THAT(metadata.All("two"), ElementsAre("a", "b"));
  EXPECT_THAT(metadata.All("none"), IsEmpty());
}

TEST(MetadataTest, DecodesBase64WithAndWithoutPaddingAndJoinedValues) {
  EXPECT_EQ(EncodeBinary("\x01\x02\x03\x04"), "AQIDBA");
  EXPECT_THAT(*DecodeBinary("AQIDBA"), ElementsAre("\x01\x02\x03\x04"));
  EXPECT_THAT(*DecodeBinary("AQIDBA=="), ElementsAre("\x01\x02\x03\x04"));
  EXPECT_THAT(*DecodeBinary("AQ, Ag"), ElementsAre("\x01", "\x02"));
  EXPECT_THAT(*DecodeBinary(""), ElementsAre(""));
  EXPECT_EQ(DecodeBinary("A!"), std::nullopt);
}

TEST(MetadataTest, EncodesWhatIsNotPrintableAscii) {
  EXPECT_EQ(EncodeMessage("plain, with ~ and space"), "plain, with ~ and space");
  EXPECT_EQ(EncodeMessage("50%\r\n\x7f"), "50%25%0D%0A%7F");
  EXPECT_EQ(EncodeMessage("\xe2\x98\xba"), "%E2%98%BA");
}

TEST(LastEncoded, EncodesEachValueThatDiffersFromTheLast) {
  static int calls = 0;
  LastEncoded last([](absl::string_view value) {
    ++calls;
    return EncodeMessage(value);
  });
  EXPECT_EQ(last.TextOf("1%"), "1%25");
  EXPECT_EQ(last.TextOf("1%"), "1%25");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(last.TextOf("2%"), "2%25");
  EXPECT_EQ(last.TextOf("1%"), "1%25");
  EXPECT_EQ(calls, 3);
}

TEST(MetadataTest, ReadsTimeoutsOfEveryUnit) {
  EXPECT_EQ(ParseTimeout("1n"), nanoseconds(1));
  EXPECT_EQ(ParseTimeout("2u"), nanoseconds(2'000));
  EXPECT_EQ(ParseTimeout("3m"), nanoseconds(3'000'000));
  EXPECT_EQ(ParseTimeout("4S"), nanoseconds(4'000'000'000));
  EXPECT_EQ(ParseTimeout("5M"), nanoseconds(300'000'000'000));
  EXPECT_EQ(ParseTimeout("6H"), hours(6));
  EXPECT_GT(*ParseTimeout("99999999H"), hours(1'000'000)) << "does not overflow";
}

TEST(MetadataTest, RefusesOtherTimeouts) {
  for (const char* const value : {"", "S", "1", "1s", "-1S", "+1S", "1.5S", "123456789S", " 1S", "1 S"}) {
    EXPECT_EQ(ParseTimeout(value), std::nullopt) << value;
  }
}

}  // namespace
}  // namespace corank::wire
