// `corank` on text: numbers one per line, and the rows of tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/client/cli_fixture.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using CliText = CliTest;
using CliTable = CliTest;

TEST_F(CliText, LinesOfAPipeComeOutInOrder) {
  const Finished done = Corank({"sort", "-"}, "3\n1\n2\n");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "1\n2\n3\n");
  EXPECT_THAT(done.err, HasSubstr("sort: 3 x int64"));
}

TEST_F(CliText, LinesKeepTheirSpelling) {
  WriteFile(Path("nums.txt"), "1e1\n  007.50\n\n+2\n-0.0\nnan\n-inf\n0\n2.0");
  const Finished done = Corank({"sort", Path("nums.txt"), "-q"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "-inf\n-0.0\n0\n+2\n2.0\n007.50\n1e1\nnan\n");
  const Finished top = Corank({"sort", Path("nums.txt"), "-qd", "--limit", "2"});
  EXPECT_EQ(top.out, "nan\n1e1\n");
}

TEST_F(CliText, LargeIntegersStayExact) {
  EXPECT_EQ(Corank({"sort", "-"}, "9007199254740993\n9007199254740992\n").out, "9007199254740992\n9007199254740993\n");
  EXPECT_EQ(Corank({"sort", "-"}, "18446744073709551615\n18446744073709551614\n").out,
            "18446744073709551614\n18446744073709551615\n");
}

TEST_F(CliText, TheOutputFollowsItsNameElseTheInput) {
  WriteFile(Path("nums.txt"), "3\r\n1\r\n");
  const struct {
    const char* output;
    std::string expected;
  } cases[] = {{"a.txt", "1\r\n3\r\n"}, {"plain", "1\r\n3\r\n"}, {"a.bin", Raw(std::vector<int64_t>{1, 3})}};
  for (const auto& c : cases) {
    const Finished done = Corank({"sort", Path("nums.txt"), "-o", Path(c.output)});
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(ReadFile(Path(c.output)), c.expected) << c.output;
  }
  ASSERT_EQ(Corank({"sort", Path("nums.txt"), "-o", Path("a.npy")}).exit_code, 0);
  EXPECT_THAT(FromNpy<int64_t>(ReadFile(Path("a.npy")), "<i8"), ElementsAre(1, 3));
  ASSERT_EQ(Corank({"sort", Path("a.npy"), "-d", "-o", Path("down.txt")}).exit_code, 0);
  EXPECT_EQ(ReadFile(Path("down.txt")), "3\n1\n");
}

TEST_F(CliText, ContentDecidesForOtherNames) {
  WriteFile(Path("nums"), "10\n9\n");
  EXPECT_EQ(Corank({"sort", Path("nums")}).out, "9\n10\n");
  WriteFile(Path("array"), Npy("<i4", std::vector<int32_t>{2, 1}));
  ASSERT_EQ(Corank({"sort", Path("array"), "-o", Path("array.npy")}).exit_code, 0);
  EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("array.npy")), "<i4"), ElementsAre(1, 2));
  EXPECT_EQ(Corank({"sort", "-"}, "").out, "");
}

// A newcomer follows the advice of a message; the numbers, not the bytes of the text, must be sorted in the end.
TEST_F(CliText, ATypeIsRefusedForText) {
  for (const char* name : {"nums.txt", "nums", "nums.log"}) {
    WriteFile(Path(name), "30\n10\n20\n\n");
    for (const char* type : {"u8", "uint16", "UINT32"}) {
      const Finished done = Corank({"sort", Path(name), "--type", type, "-o", Path("out")});
      EXPECT_EQ(done.exit_code, 2) << name << type;
      EXPECT_THAT(done.err, HasSubstr(" is text, but a type is for raw binary data; leave the type out"));
      EXPECT_THAT(done.err, HasSubstr("needs --format raw"));
      EXPECT_FALSE(std::filesystem::exists(Path("out")));
    }
    EXPECT_EQ(Corank({"sort", Path(name)}).out, "10\n20\n30\n");
  }
  const Finished piped = Corank({"sort", "-", "-t", "u8", "-o", "-"}, "3\n1\n");
  EXPECT_EQ(piped.exit_code, 2);
  EXPECT_THAT(piped.out, IsEmpty());
  const Finished forced = Corank({"sort", "-", "--format", "raw", "-t", "u8", "-o", "-"}, "3\n1\n");
  EXPECT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_EQ(forced.out, "\n\n13");
}

TEST_F(CliText, AWrongLineIsNamedWithWhatToDo) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"1\nabc\n", "line 2: 'abc' is not one number; a text has one number per line"},
      {"1,2\n3,4\n", "line 1: '1,2' is not one number; a text has one number per line, and columns need --format csv"},
      {"# head\n1\n", "line 1: '# head' is not one number"},
      {"0.5\n\n9007199254740993\n", "line 3: 9007199254740993 has no exact float64"},
      {"\xFF\xFE"
       "1\n",
       "UTF-16"},
  };
  for (const auto& c : cases) {
    WriteFile(Path("nums.txt"), c.text);
    const Finished done = Corank({"sort", Path("nums.txt"), "-o", Path("out.txt")});
    EXPECT_EQ(done.exit_code, 3) << c.text;
    EXPECT_THAT(done.err, HasSubstr(c.message));
    EXPECT_THAT(folder_.Names(), ElementsAre("nums.txt"));
  }
}

TEST_F(CliText, OtherCommandsTakeText) {
  WriteFile(Path("a.txt"), "1\n4.50\n");
  WriteFile(Path("b.txt"), "1\n2\n9\n");
  EXPECT_EQ(Corank({"merge", Path("a.txt"), Path("b.txt"), "-q"}).out, "1\n1\n2\n4.50\n9\n");
  WriteFile(Path("nums.txt"), "30\n10\n20\n");
  EXPECT_EQ(Corank({"argsort", Path("nums.txt")}).out, "1\n2\n0\n");
  EXPECT_EQ(Corank({"search", Path("b.txt"), Path("a.txt")}).out, "0\n2\n");
  WriteFile(Path("counts.txt"), "2\n0\n1\n");
  EXPECT_EQ(Corank({"expand", Path("nums.txt"), "--counts", Path("counts.txt")}).out, "30\n30\n20\n");
  EXPECT_EQ(Corank({"load-balance", Path("counts.txt")}).out, "0\n0\n2\n");
  WriteFile(Path("v.txt"), "1\n2\n3\n");
  ASSERT_EQ(Corank({"sort", Path("nums.txt"), "-o", Path("k.txt"), "--values", Path("v.txt"), "--values-output",
                    Path("vo.txt")})
                .exit_code,
            0);
  EXPECT_EQ(ReadFile(Path("k.txt")), "10\n20\n30\n");
  EXPECT_EQ(ReadFile(Path("vo.txt")), "2\n3\n1\n");
}

TEST_F(CliText, AnUnsortedInputIsNamedByItsLine) {
  WriteFile(Path("a.txt"), "1\n\n3\n2\n");
  WriteFile(Path("b.txt"), "1\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"merge", Path("b.txt"), Path("a.txt")}, {"search", Path("a.txt"), Path("b.txt")}}) {
    const Finished done = Corank(words);
    EXPECT_EQ(done.exit_code, 3) << done.err;
    EXPECT_THAT(done.err, HasSubstr("a.txt, line 4: 2 follows 3, so the input is not sorted ascending; sort it first: "
                                    "corank sort "));
  }
}

TEST_F(CliText, WhatIsNoArrayGetsAdvice) {
  std::filesystem::create_directory(Path("folder"));
  std::filesystem::create_directory(Path("folder.csv"));
  const struct {
    const char* name;
    const char* message;
  } cases[] = {{"folder", "is a folder; name one file in it"},
               {"folder.csv", "is a folder; name one file in it"},
               {"a.npz", "holds several arrays; save one of them as .npy: python3 -c"},
               {"a.parquet", "pd.read_parquet('"},
               {"a.json", "is JSON"},
               {"nums.txt.gz", "gunzip -c "}};
  for (const auto& c : cases) {
    if (!std::filesystem::exists(Path(c.name))) WriteFile(Path(c.name), "PK");
    const Finished done = Corank({"sort", Path(c.name), "-o", Path("out.txt")});
    EXPECT_EQ(done.exit_code, 3) << c.name << done.err;
    EXPECT_THAT(done.err, HasSubstr(c.message));
  }
}

TEST_F(CliTable, RowsFollowAColumnAndTheHeaderStays) {
  WriteFile(Path("people.csv"), "name,age\nada,36\nbob,7\ncyd,36\n\"d, \"\"e\"\"\nf\",100\n");
  const Finished done = Corank({"sort", Path("people.csv"), "--column", "age"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "name,age\nbob,7\nada,36\ncyd,36\n\"d, \"\"e\"\"\nf\",100\n");
  EXPECT_THAT(done.err, HasSubstr("by column age as int64"));
  // Equal rows keep their order in both directions.
  EXPECT_EQ(Corank({"sort", Path("people.csv"), "-qdc", "2"}).out,
            "name,age\n\"d, \"\"e\"\"\nf\",100\nada,36\ncyd,36\nbob,7\n");
  EXPECT_EQ(Corank({"sort", Path("people.csv"), "-qc", "name", "--limit", "1", "-d"}).out,
            "name,age\n\"d, \"\"e\"\"\nf\",100\n");
  const Finished saved =
      Corank({"sort", Path("people.csv"), "-c", "age", "-c", "name", "-d", "-o", Path("o.csv"), "--json"});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_EQ(ReadFile(Path("o.csv")), "name,age\n\"d, \"\"e\"\"\nf\",100\ncyd,36\nada,36\nbob,7\n");
  EXPECT_THAT(saved.out, HasSubstr("\"type\": \"row\", \"count\": 4"));
}

TEST_F(CliTable, AColumnThatIsNotAllNumbersIsText) {
  const Finished done = Corank({"sort", "-", "--format", "tsv", "--column", "v"}, "k\tv\na\t10\nb\t9\nc\tn/a\n");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "k\tv\na\t10\nb\t9\nc\tn/a\n");
  EXPECT_THAT(done.err, HasSubstr("by column v as text ('n/a' in line 4 is not a number)"));
}

TEST_F(CliTable, EmptyCellsComeLastInBothDirections) {
  const std::string table = "k,v\na,\nb,10\nc,9\nd,\n";
  WriteFile(Path("t.csv"), table);
  EXPECT_EQ(Corank({"sort", Path("t.csv"), "-qc", "v"}).out, "k,v\nc,9\nb,10\na,\nd,\n");
  EXPECT_EQ(Corank({"sort", Path("t.csv"), "-qdc", "v"}).out, "k,v\nb,10\nc,9\na,\nd,\n");
}

TEST_F(CliTable, TakesTablesWithoutHeaderRowsOrSemicolons) {
  EXPECT_EQ(Corank({"sort", "-", "--format=csv", "--header", "no", "-qc", "1"}, "3,a\n1,b\n").out, "1,b\n3,a\n");
  EXPECT_EQ(Corank({"sort", "-", "--format=csv", "-qc", "n"}, "n,m\n").out, "n,m\n");
  EXPECT_EQ(Corank({"sort", "-", "--format=CSV", "--delimiter=;", "-qc", "n"}, "n;m\n2;1,5\n1;2,5\n").out,
            "n;m\n1;2,5\n2;1,5\n");
}

TEST_F(CliTable, RefusesWithWhatToDo) {
  WriteFile(Path("t.csv"), "name,age\nada,36\n");
  WriteFile(Path("odd.csv"), "name,age\nada\n");
  WriteFile(Path("n.csv"), "1\n2\n");
  WriteFile(Path("a.npy"), Npy("<i4", std::vector<int32_t>{2, 1}));
  const struct {
    std::vector<std::string> words;
    int exit_code;
    const char* message;
  } cases[] = {
      {{Path("t.csv")}, 2, "which column decides the order? give --column;"},
      {{Path("t.csv"), "-c", "aeg"}, 2, "did you mean age?"},
      {{Path("odd.csv"), "-c", "age"}, 3, "odd.csv, line 2: this row has 1 cells"},
      {{Path("n.csv"), "-c", "1"}, 2, "give --header no if it is data"},
      {{Path("t.csv"), "-c", "age", "--type", "u32"}, 2, "--type does not go together with a table"},
      {{Path("t.csv"), "-c", "age", "-o", Path("o.npy")}, 2, "name the output .csv or .tsv"},
      {{Path("t.csv"), "-c", "age", "--delimiter", ",,"}, 2, "--delimiter must be one character"},
      {{Path("t.csv"), "-c", "age", "--json"}, 2, "name a file with --output"},
      {{Path("a.npy"), "-c", "age", "-o", Path("o.npy")}, 2, "--column is for tables"},
      {{Path("a.parquet"), "-c", "age", "-o", Path("o.csv")}, 3, "corank-table sort"},
      {{Path("a.npy"), "-o", Path("o.csv")}, 2, "the result is no table; name it .txt or .npy"},
  };
  const std::vector<std::string> before = folder_.Names();
  for (const auto& c : cases) {
    std::vector<std::string> words = c.words;
    words.insert(words.begin(), "sort");
    const Finished done = Corank(words);
    EXPECT_EQ(done.exit_code, c.exit_code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(c.message));
    EXPECT_THAT(done.out, IsEmpty());
    EXPECT_EQ(folder_.Names(), before);
  }
  const Finished merged = Corank({"merge", Path("t.csv"), Path("t.csv")});
  EXPECT_EQ(merged.exit_code, 2);
  EXPECT_THAT(merged.err, HasSubstr("is a table, which only corank sort takes"));
}

}  // namespace
}  // namespace corank::testing
