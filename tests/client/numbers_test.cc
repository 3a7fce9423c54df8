// Numbers in text: their type, what is refused, and how they are written.
#include "client/cli/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "client/cli/failure.h"
#include "client/cli/formats.h"
#include "corank/element.h"

namespace corank::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Cell> Cells(const std::vector<const char*>& texts) {
  std::vector<Cell> cells;
  for (const char* text : texts) cells.push_back({text, static_cast<int64_t>(cells.size()) + 1});
  return cells;
}

template <typename T>
std::vector<T> Elements(const Numbers& numbers) {
  std::vector<T> elements(numbers.bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), numbers.bytes.data(), numbers.bytes.size());
  return elements;
}

std::string ErrorOf(const std::vector<const char*>& texts) {
  const absl::StatusOr<Numbers> numbers = ReadNumbers(Cells(texts), "f.txt");
  EXPECT_EQ(ExitCodeOf(numbers.status()), kExitFile);
  return std::string(numbers.status().message());
}

TEST(ReadNumbers, IntegersAreInt64) {
  const absl::StatusOr<Numbers> numbers =
      ReadNumbers(Cells({"9223372036854775807", "-9223372036854775808", "+7", "007"}), "f");
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->type, KeyType::kInt64);
  EXPECT_THAT(Elements<int64_t>(*numbers),
              ElementsAre(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 7, 7));
}

TEST(ReadNumbers, LargeIntegersAreUint64) {
  const absl::StatusOr<Numbers> numbers = ReadNumbers(Cells({"18446744073709551615", "0"}), "f");
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->type, KeyType::kUint64);
  EXPECT_THAT(Elements<uint64_t>(*numbers), ElementsAre(std::numeric_limits<uint64_t>::max(), 0));
}

TEST(ReadNumbers, OneFloatMakesAllFloat64) {
  for (const char* floating : {"2.5", "2.", ".5", "1e3", "1E-3", "inf", "-Infinity", "NaN", "+1.0"}) {
    const absl::StatusOr<Numbers> numbers = ReadNumbers(Cells({"9007199254740992", floating}), "f");
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    EXPECT_EQ(numbers->type, KeyType::kFloat64) << floating;
    EXPECT_EQ(Elements<double>(*numbers)[0], 9007199254740992.0) << floating;
  }
}

TEST(ReadNumbers, NothingAtAllIsInt64) { EXPECT_EQ(ReadNumbers({}, "f")->type, KeyType::kInt64); }

// 2^53 + 1 would become its neighbour, and sort as equal to it.
TEST(ReadNumbers, RefusesToRound) {
  EXPECT_THAT(
      ErrorOf({"0.5", "9007199254740993"}),
      HasSubstr("f.txt, line 2: 9007199254740993 has no exact float64, the type that 0.5 in line 1 needs; write "
                "it as 9007199254740993.0 to round it"));
  EXPECT_THAT(ErrorOf({"18446744073709551615", "0.5"}), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOf({"18446744073709551616"}), HasSubstr("has more than 64 bits"));
  EXPECT_THAT(ErrorOf({"-1", "9223372036854775808"}), HasSubstr("line 2: 9223372036854775808 fits uint64 only, and "
                                                                "line 1 is negative"));
  EXPECT_THAT(ErrorOf({"1e400"}), HasSubstr("too large for float64"));
}

TEST(FirstNotANumber, FindsEverySpellingThatIsNone) {
  for (const char* text : {"", "-", "+", ".", "1,5", "1 2", "0x10", "1_000", "e5", "1e", "1e+", "abc", "12a", "--1",
                           "infinit", "1.2.3", "$5", "\xC2\xB2"}) {
    EXPECT_EQ(FirstNotANumber(Cells({"1", text})), 1u) << text;
  }
  EXPECT_EQ(FirstNotANumber(Cells({"1", "-0", "+.5e-3", "nan", "INF"})), std::nullopt);
}

TEST(ConvertNumbers, ChangesTheTypeButNoValue) {
  Numbers numbers{KeyType::kInt64, ""};
  ASSERT_TRUE(ConvertNumbers(Cells({"3", "-1"}), "f", KeyType::kFloat64, &numbers).ok());
  EXPECT_THAT(Elements<double>(numbers), ElementsAre(3, -1));
  numbers.type = KeyType::kInt64;
  EXPECT_FALSE(ConvertNumbers(Cells({"9007199254740993"}), "f", KeyType::kFloat64, &numbers).ok());
  EXPECT_THAT(std::string(ConvertNumbers(Cells({"-1"}), "f", KeyType::kUint64, &numbers).message()),
              HasSubstr("line 1: -1 is negative"));
}

TEST(FirstOutOfOrder, KnowsBothDirectionsTiesAndNan) {
  const auto bytes = [](const std::vector<double>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  };
  EXPECT_EQ(FirstOutOfOrder(KeyType::kFloat64, bytes({1, 1, 2, NAN}), Order::kAscending), std::nullopt);
  EXPECT_EQ(FirstOutOfOrder(KeyType::kFloat64, bytes({1, NAN, 2}), Order::kAscending), 2u);
  EXPECT_EQ(FirstOutOfOrder(KeyType::kFloat64, bytes({NAN, 2, 2, 1}), Order::kDescending), std::nullopt);
  EXPECT_EQ(FirstOutOfOrder(KeyType::kFloat64, bytes({1, 2}), Order::kDescending), 1u);
  EXPECT_EQ(FirstOutOfOrder(KeyType::kFloat64, "", Order::kAscending), std::nullopt);
}

TEST(AppendNumber, WritesTheShortestSpellingThatReadsBack) {
  const auto text = [](KeyType type, auto value) {
    std::string to;
    AppendNumber(type, reinterpret_cast<const char*>(&value), &to);
    return to;
  };
  EXPECT_EQ(text(KeyType::kInt8, int8_t{-5}), "-5");
  EXPECT_EQ(text(KeyType::kUint8, uint8_t{65}), "65");
  EXPECT_EQ(text(KeyType::kUint64, std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text(KeyType::kFloat64, 0.1), "0.1");
  EXPECT_EQ(text(KeyType::kFloat32, 0.1f), "0.1");
  EXPECT_EQ(text(KeyType::kFloat16, client::Float16{0x3E00}), "1.5");
  EXPECT_EQ(text(KeyType::kBfloat16, client::Bfloat16{0x3FC0}), "1.5");
}

TEST(LooksLikeText, TellsNumbersAndProseFromElements) {
  constexpr char kMarked[] = {'\xEF', '\xBB', '\xBF', '1', '\n', '\0'};  // with a byte order mark
  for (const char* text : {"3\n1\n2\n", "12345678", "a\nb", "1.5e3 -2\r\n", "\xC3\xA4\n", kMarked}) {
    EXPECT_TRUE(LooksLikeText(text)) << text;
  }
  for (const std::string& binary : {std::string(), std::string("ab"), std::string("\x01\x00\x00\x00", 4),
                                    std::string("1\n2\n\0", 5), std::string("\xFF\xFE\n")}) {
    EXPECT_FALSE(LooksLikeText(binary));
  }
  // Judged by the beginning, which may end within a character.
  std::string large((64 << 10) - 1, '1');
  large[100] = '\n';
  EXPECT_TRUE(LooksLikeText(large + "\xC3\xA4" + std::string(1, '\0')));
}

TEST(ReadElement, TakesTheNumbersThatATypeHolds) {
  EXPECT_EQ(*ReadElement(KeyType::kInt8, "-128"), "\x80");
  EXPECT_EQ(*ReadElement(KeyType::kUint16, "65535"), "\xff\xff");
  EXPECT_EQ(*ReadElement(KeyType::kUint64, "18446744073709551615"), std::string(8, '\xff'));
  EXPECT_EQ(*ReadElement(KeyType::kFloat16, "1"), std::string("\0\x3c", 2));
  EXPECT_EQ(*ReadElement(KeyType::kBfloat16, "-2"), std::string("\0\xc0", 2));
  EXPECT_EQ(*ReadElement(KeyType::kFloat32, "0.5"), std::string("\0\0\0\x3f", 4));
  for (const KeyType type : kAllKeyTypes) {
    for (const char* wrong : {"", "x", "1 2", "--1", "0x10"}) EXPECT_FALSE(ReadElement(type, wrong).ok()) << wrong;
    EXPECT_EQ(ReadElement(type, "nan").ok(), IsFloat(type));
    EXPECT_EQ(ReadElement(type, "1.5").ok(), IsFloat(type));
    EXPECT_EQ(ReadElement(type, "-1").ok(), IsFloat(type) || IsSigned(type));
  }
  EXPECT_FALSE(ReadElement(KeyType::kInt8, "128").ok());
  EXPECT_FALSE(ReadElement(KeyType::kUint64, "18446744073709551616").ok());
}

}  // namespace
}  // namespace corank::cli
