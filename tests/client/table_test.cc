// Tables in text: rows, quotes, columns, headers.
#include "client/cli/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/failure.h"

namespace corank::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Header = TableOptions::Header;

absl::StatusOr<Table> Read(absl::string_view text, const std::vector<std::string>& columns,
                           Header header = Header::kGuess, char delimiter = ',') {
  return ReadTable(text, {delimiter, columns, header}, "t.csv");
}

std::vector<std::string> Texts(const std::vector<Cell>& cells) {
  std::vector<std::string> texts;
  for (const Cell& cell : cells) texts.emplace_back(cell.text);
  return texts;
}

std::string ErrorOf(absl::string_view text, const std::vector<std::string>& columns, ExitCode exit_code,
                    Header header = Header::kGuess) {
  const absl::StatusOr<Table> table = Read(text, columns, header);
  EXPECT_EQ(ExitCodeOf(table.status()), exit_code) << table.status();
  return std::string(table.status().message());
}

TEST(ReadTable, FindsColumnsByNameAndByNumber) {
  for (const char* column : {"age", "2"}) {
    const absl::StatusOr<Table> table = Read("name,age\nada,36\nbob,7\n", {column});
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->head, "name,age\n");
    EXPECT_THAT(table->rows, ElementsAre("ada,36", "bob,7"));
    EXPECT_THAT(Texts(table->columns[0]), ElementsAre("36", "7"));
    EXPECT_EQ(table->columns[0][1].line, 3);
  }
}

TEST(ReadTable, AnOnlyColumnNeedsNoName) {
  EXPECT_THAT(Texts(Read("n\n3\n1\n", {})->columns[0]), ElementsAre("3", "1"));
}

TEST(ReadTable, AQuotedCellHoldsDelimitersLinesAndQuotes) {
  const absl::StatusOr<Table> table =
      Read("k,v\n\"b, \"\"c\"\"\",1\n\"two\nlines\",2\n\"\",3\nplain \"x\",4\n", {"k", "v"});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(Texts(table->columns[0]), ElementsAre("b, \"c\"", "two\nlines", "", "plain \"x\""));
  EXPECT_THAT(table->rows, ElementsAre("\"b, \"\"c\"\"\",1", "\"two\nlines\",2", "\"\",3", "plain \"x\",4"));
  EXPECT_EQ(table->columns[1][1].line, 4);  // behind a cell with a line end
  EXPECT_EQ(table->columns[0][2].line, 5);
}

TEST(ReadTable, TakesEveryLineEndAndAByteOrderMark) {
  const absl::StatusOr<Table> table = Read("\xEF\xBB\xBFk,v\r\n\"a\",1\r\n\r\nb,2", {"k"});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->head, "\xEF\xBB\xBFk,v\r\n");
  EXPECT_EQ(table->line_end, "\r\n");
  EXPECT_THAT(table->rows, ElementsAre("\"a\",1", "b,2"));
  EXPECT_THAT(Read("k\n", {})->rows, IsEmpty());
  EXPECT_THAT(Read("k,v\na,\n", {"v"})->rows, ElementsAre("a,"));
  EXPECT_THAT(Texts(Read("k,v\r\na,\"x\"\r", {"v"})->columns[0]), ElementsAre("x"));
}

TEST(ReadTable, TabsSeparateToo) {
  const absl::StatusOr<Table> table = Read("k\tv\na,b\t1\n", {"k"}, Header::kGuess, '\t');
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(Texts(table->columns[0]), ElementsAre("a,b"));
}

TEST(ReadTable, AFirstRowOfNumbersIsNoHeaderUnlessSaid) {
  EXPECT_THAT(ErrorOf("3,1\n1,2\n", {"1"}, kExitUsage),
              HasSubstr("the first row of t.csv has numbers only; give --header no if it is data, or --header yes"));
  const absl::StatusOr<Table> data = Read("3,1\n1,2\n", {"1"}, Header::kNo);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->head, "");
  EXPECT_THAT(Texts(data->columns[0]), ElementsAre("3", "1"));
  EXPECT_THAT(Texts(Read("3,1\n1,2\n", {"3"}, Header::kYes)->columns[0]), ElementsAre("1"));
}

TEST(ReadTable, RefusesWithTheLineAndWhatToDo) {
  EXPECT_THAT(ErrorOf("", {}, kExitFile), HasSubstr("t.csv is empty"));
  EXPECT_THAT(ErrorOf("name,age\n", {}, kExitUsage), HasSubstr("give --column; t.csv has name, age"));
  EXPECT_THAT(ErrorOf("name,age\n", {"aeg"}, kExitUsage),
              HasSubstr("no column 'aeg'; it has name, age; did you mean age?"));
  EXPECT_THAT(ErrorOf("name,age\n", {"3"}, kExitUsage), HasSubstr("no column '3'"));
  EXPECT_THAT(ErrorOf("name,age\n", {"0"}, kExitUsage), HasSubstr("no column '0'"));
  EXPECT_THAT(ErrorOf("a;b\n1;2\n", {"a"}, kExitUsage),
              HasSubstr("it has a;b; if that is several columns, give --delimiter"));
  EXPECT_THAT(ErrorOf("a;b\n1;2\n", {}, kExitUsage), HasSubstr("if that is several columns, give --delimiter"));
  EXPECT_THAT(ErrorOf("x,x\n1,2\n", {"x"}, kExitUsage), HasSubstr("several columns 'x'; give --column as a number"));
  EXPECT_THAT(ErrorOf("1,2\n", {"a"}, kExitUsage, Header::kNo), HasSubstr("--column is a number from 1 to 2"));
  EXPECT_THAT(ErrorOf("a,b\n1,2\n3\n", {"a"}, kExitFile),
              HasSubstr("t.csv, line 3: this row has 1 cells, but the first row has 2"));
  EXPECT_THAT(ErrorOf("a,b\n1,2,3\n", {"a"}, kExitFile), HasSubstr("line 2: this row has 3 cells"));
  EXPECT_THAT(ErrorOf("a,b\n\n\"x\n,2\n", {"a"}, kExitFile),
              HasSubstr("t.csv, line 3: the quote before 'x?,2?' is not closed"));
  EXPECT_THAT(ErrorOf("a,b\n\"x\"y,2\n", {"a"}, kExitFile),
              HasSubstr("line 2: there is text after the closing quote of '\"x\"'"));
  EXPECT_THAT(ErrorOf("\xFF\xFE"
                      "a",
                      {"a"}, kExitFile),
              HasSubstr("UTF-16"));
}

}  // namespace
}  // namespace corank::cli
