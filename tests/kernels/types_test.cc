#include "kernels/common/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace corank {
namespace {

TEST(IndexBytes, FourWhereTheGreatestIndexFits) {
  EXPECT_EQ(IndexBytes(-1), 4);
  EXPECT_EQ(IndexBytes(0), 4);
  EXPECT_EQ(IndexBytes(int64_t{0xFFFFFFFF}), 4);
  EXPECT_EQ(IndexBytes(int64_t{0x100000000}), 8);
}

TEST(KeyTypes, HaveDistinctNamesAndTheirWidths) {
  std::set<std::string> names;
  int bytes = 0;
  for (KeyType type : kAllKeyTypes) {
    names.insert(KeyTypeName(type));
    bytes += KeyBytes(type);
  }
  EXPECT_EQ(names.size(), 12U);
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_EQ(bytes, 2 * (1 + 2 + 4 + 8) + 2 + 2 + 4 + 8);
}

}  // namespace
}  // namespace corank
