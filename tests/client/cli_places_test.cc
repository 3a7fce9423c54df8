// `corank` on files larger than a chunk, in every place, and on arrays that the server keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/client/cli_fixture.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using CliPlaces = CliTest;

std::vector<uint32_t> Keys(size_t count) {
  std::mt19937 random(5);
  std::vector<uint32_t> keys(count);
  for (uint32_t& key : keys) key = random() % 1'000'000;
  return keys;
}

TEST_F(CliPlaces, SortsAFileTheSameWhicheverWayItTravels) {
  const std::vector<uint32_t> keys = Keys(1'500'000);
  std::vector<uint64_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), uint64_t{1} << 40);
  WriteFile(Path("keys.npy"), Npy("<u4", keys));
  WriteFile(Path("rows.bin"), Raw(rows));
  std::stable_sort(rows.begin(), rows.end(), [&](uint64_t a, uint64_t b) {
    return keys[a - (uint64_t{1} << 40)] < keys[b - (uint64_t{1} << 40)];
  });
  std::vector<uint32_t> expected = keys;
  std::sort(expected.begin(), expected.end());
  const struct {
    std::vector<std::string> options;
    const char* report;
  } cases[] = {{{"--place", "inline"}, "\"place\": \"inline\", \"connections\": 1"},
               {{"--place", "stream"}, "\"place\": \"stream\", \"connections\": 1"},
               {{"--place", "stream", "--connections", "3"}, "\"place\": \"stream\", \"connections\": 3"},
               {{"--place", "shared-memory"}, "\"place\": \"shared-memory\""},
               {{}, "\"place\": \"shared-memory\""}};
  for (const auto& c : cases) {
    std::vector<std::string> words = {"sort",           Path("keys.npy"), "-o",  Path("out.npy"),   "--values",
                                      Path("rows.bin"), "--values-type",  "u64", "--values-output", Path("rows.npy"),
                                      "--force",        "--json"};
    words.insert(words.end(), c.options.begin(), c.options.end());
    const Finished done = Corank(words);
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr(c.report));
    EXPECT_TRUE(FromNpy<uint32_t>(ReadFile(Path("out.npy")), "<u4") == expected);
    EXPECT_TRUE(FromNpy<uint64_t>(ReadFile(Path("rows.npy")), "<u8") == rows);
  }
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.npy", "out.npy", "rows.bin", "rows.npy"));

  const Finished few = Corank({"sort", Path("keys.npy"), "-o", Path("few.bin"), "--limit", "400000"});
  ASSERT_EQ(few.exit_code, 0) << few.err;
  expected.resize(400'000);
  EXPECT_TRUE(ReadFile(Path("few.bin")) == Raw(expected));
}

TEST_F(CliPlaces, MergesLargeFiles) {
  std::vector<uint32_t> a = Keys(600'000), b = Keys(300'001);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  WriteFile(Path("a.bin"), Raw(a));
  WriteFile(Path("b.bin"), Raw(b));
  std::vector<uint32_t> expected;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
  for (const char* place : {"stream", "shared-memory"}) {
    const Finished done = Corank(
        {"merge", Path("a.bin"), Path("b.bin"), "-t", "u32", "-o", Path("out.npy"), "--place", place, "--force"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_TRUE(FromNpy<uint32_t>(ReadFile(Path("out.npy")), "<u4") == expected);
    EXPECT_THAT(done.err, HasSubstr(place == std::string("stream") ? "streamed over 1 connection: receive"
                                                                   : "through shared memory"));
  }
}

TEST_F(CliPlaces, ArraysAreKeptByNameUntilTheyAreDeleted) {
  const std::vector<uint32_t> keys = Keys(700'000);
  WriteFile(Path("keys.npy"), Npy("<u4", keys));
  const Finished stored = Corank({"arrays", "store", "cli-keys", Path("keys.npy"), "--expiry", "90s"});
  ASSERT_EQ(stored.exit_code, 0) << stored.err;
  const Finished endless = Corank({"arrays", "store", "endless", Path("keys.npy"), "--expiry", "inf"});
  EXPECT_EQ(endless.exit_code, 1) << endless.err;
  EXPECT_THAT(endless.err, HasSubstr("corank arrays: --expiry: must be 0 (the default) to "));
  EXPECT_THAT(stored.err, HasSubstr("stored cli-keys: 700,000 x uint32, expires in 1m30s"));
  const Finished listed = Corank({"arrays", "list", "--json"});
  EXPECT_THAT(listed.out, HasSubstr(R"({"name": "cli-keys", "type": "uint32", "count": 700000, "expires_in_seconds")"));
  EXPECT_THAT(Corank({"arrays", "list"}).out, HasSubstr("cli-keys"));
  const Finished fetched = Corank({"arrays", "fetch", "cli-keys", "-o", Path("back.npy"), "-q"});
  ASSERT_EQ(fetched.exit_code, 0) << fetched.err;
  EXPECT_THAT(fetched.err, IsEmpty());
  EXPECT_TRUE(ReadFile(Path("back.npy")).size() >= Raw(keys).size());
  EXPECT_TRUE(FromNpy<uint32_t>(ReadFile(Path("back.npy")), "<u4") == keys);
  EXPECT_EQ(Corank({"arrays", "fetch", "cli-keys", "-o", "-"}).out, Raw(keys));
  const Finished described = Corank({"arrays", "fetch", "cli-keys", "-o", Path("back.npy"), "--force", "--json"});
  EXPECT_EQ(described.out,
            R"({"name": "cli-keys", "type": "uint32", "count": 700000, "path": ")" + Path("back.npy") + "\"}\n");
  EXPECT_EQ(Corank({"arrays", "delete", "cli-keys", "--json"}).out, "{\"name\": \"cli-keys\", \"deleted\": true}\n");
  EXPECT_EQ(Corank({"arrays", "delete", "cli-keys"}).exit_code, 1);
}

TEST_F(CliPlaces, RegionsAreListed) {
  const Finished none = Corank({"regions", "list"});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_THAT(none.err, HasSubstr("no regions"));
  EXPECT_EQ(Corank({"regions", "list", "--json"}).out, "{\"regions\": []}\n");
}

TEST_F(CliPlaces, InfoSaysWhatThePlacesAre) {
  const std::string json = Corank({"info", "--json"}).out;
  for (const char* part : {"\"places\": [\"inline\"", "\"shared_memory_prefixes\": [\"/corank-\"]",
                           "\"max_parts\": ", "\"stream_window_bytes\": ", "\"max_device_bytes\": "}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  EXPECT_THAT(Corank({"info"}).out, HasSubstr("connections"));
}

TEST(CliOutOfCore, InfoSaysFromWhereOnAndReportsSayWhatWas) {
  const TemporaryFolder folder;
  const Server server({"--max-device-bytes=1MiB"});
  const auto corank = [&server](std::vector<std::string> words) {
    words.insert(words.begin(), CORANK_BINARY);
    return RunToEnd(words, "", {"CORANK_SERVER=" + server.address()});
  };
  EXPECT_THAT(corank({"info"}).out, HasSubstr("out of core over  512.0 KiB\n"));
  for (const size_t count : {size_t{512} << 8, (size_t{512} << 8) + 1}) {
    SCOPED_TRACE(count);
    const bool is_out = count > size_t{512} << 8;
    std::vector<uint32_t> keys = Keys(count);
    std::sort(keys.begin(), keys.end());
    const size_t middle = count / 2;
    WriteFile(folder.Path("a.bin"), std::string(reinterpret_cast<const char*>(keys.data()), 4 * middle));
    WriteFile(folder.Path("b.bin"), std::string(reinterpret_cast<const char*>(&keys[middle]), 4 * (count - middle)));
    WriteFile(folder.Path("all.bin"), std::string(reinterpret_cast<const char*>(keys.data()), 4 * count));
    const std::vector<std::string> how = {"-o",    folder.Path("out.bin"), "--force", "--type", "u32", "--place",
                                          "stream"};
    const auto report = [&](std::vector<std::string> words) {
      words.insert(words.end(), how.begin(), how.end());
      const Finished done = corank(words);
      EXPECT_EQ(done.exit_code, 0) << done.err;
      return done.out + done.err;
    };
    using Text = ::testing::Matcher<std::string>;
    const Text none = Not(HasSubstr("out of core"));
    EXPECT_THAT(report({"sort", folder.Path("all.bin")}),
                is_out ? Text(ContainsRegex("out of core in [0-9]+ runs")) : none);
    EXPECT_THAT(report({"merge", folder.Path("a.bin"), folder.Path("b.bin")}),
                is_out ? Text(AllOf(HasSubstr(", out of core"), Not(HasSubstr(" runs")))) : none);
  }
}

}  // namespace
}  // namespace corank::testing
