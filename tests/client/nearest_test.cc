// How the server and the command line guess the name behind a misspelled one.
#include "spelling/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace corank {
namespace {

TEST(EditDistance, CountsLettersAndSwaps) {
  EXPECT_EQ(EditDistance("lanes", "lanes"), 0);
  EXPECT_EQ(EditDistance("lane", "lanes"), 1);
  EXPECT_EQ(EditDistance("lnaes", "lanes"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(Nearest, FindsSlipsAndPrefixesButNotStrangers) {
  const std::vector<std::string> known = {"sort", "argsort", "search", "scatter"};
  EXPECT_EQ(Nearest("srot", known), "sort");
  EXPECT_EQ(Nearest("sort1", known), "sort");
  EXPECT_EQ(Nearest("scat", known), "scatter");
  EXPECT_EQ(Nearest("serch", known), "search");
  EXPECT_EQ(Nearest("SROT", known), "sort");
  EXPECT_EQ(Nearest("deploy", known), "");
  EXPECT_EQ(Nearest("ab", {"cd"}), "");
  EXPECT_EQ(Nearest(std::string(100000, 'x'), known), "");
}

TEST(Nearest, PrefersASwapToAMissingLetter) {
  EXPECT_EQ(Nearest("unit32", {"int32", "int64", "uint32", "uint64"}), "uint32");
}

TEST(Nearest, KeepsTheLettersOfTheKnownName) { EXPECT_EQ(Nearest("LOAD_TMIE", {"Load_Time"}), "Load_Time"); }

TEST(DidYouMean, AsksOnlyIfANameIsNear) {
  EXPECT_EQ(DidYouMean("lnaes", {"listen", "lanes"}, "--"), "; did you mean --lanes?");
  EXPECT_EQ(DidYouMean("lnaes", {"listen", "lanes"}), "; did you mean lanes?");
  EXPECT_EQ(DidYouMean("color", {"listen", "lanes"}), "");
}

}  // namespace
}  // namespace corank
