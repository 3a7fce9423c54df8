// Every command of `corank` as a process against the real server. Compares results with plain standard algorithms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/client/cli_fixture.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

google::protobuf::Struct Json(const std::string& text) {
  google::protobuf::Struct json;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &json);
  EXPECT_TRUE(parsed.ok()) << parsed << "\n" << text;
  return json;
}

TEST_F(CliTest, SortsANpyFile) {
  std::mt19937_64 random(1);
  std::vector<double> keys(100'000);
  for (double& key : keys) key = std::ldexp(static_cast<double>(random() >> 11), -40) - 4000;
  WriteFile(Path("keys.npy"), Npy("<f8", keys));
  const Finished done = Corank({"sort", Path("keys.npy"), "-o", Path("sorted.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, IsEmpty());
  EXPECT_THAT(done.err, HasSubstr("sort: 100,000 x float64 on cpu"));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(FromNpy<double>(ReadFile(Path("sorted.npy")), "<f8"), keys);
}

TEST_F(CliTest, SortsARawFileDescendingWithRecords) {
  std::mt19937_64 random(2);
  std::vector<int16_t> keys(5000);
  for (int16_t& key : keys) key = static_cast<int16_t>(random() % 100);
  std::vector<std::array<char, 5>> rows(keys.size());
  for (size_t i = 0; i < rows.size(); ++i) std::memcpy(rows[i].data(), &i, 5);
  WriteFile(Path("keys.bin"), Raw(keys));
  WriteFile(Path("rows.bin"), Raw(rows));
  const Finished done = Corank({"sort", Path("keys.bin"), "--type", "i16", "--descending", "--algorithm=mergesort",
                                "--values", Path("rows.bin"), "--values-record-bytes", "5", "-o", Path("k.bin"),
                                "--values-output", Path("r.bin"), "--json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] > keys[b]; });
  std::string expected_keys, expected_rows;
  for (const size_t i : order) {
    expected_keys.append(reinterpret_cast<const char*>(&keys[i]), sizeof(keys[i]));
    expected_rows.append(rows[i].data(), rows[i].size());
  }
  EXPECT_TRUE(ReadFile(Path("k.bin")) == expected_keys);
  EXPECT_TRUE(ReadFile(Path("r.bin")) == expected_rows);

  EXPECT_THAT(done.err, IsEmpty());
  const auto json = Json(done.out);
  EXPECT_EQ(json.fields().at("operator").string_value(), "sort");
  EXPECT_EQ(json.fields().at("elements").number_value(), 5000);
  EXPECT_EQ(json.fields().at("algorithm").string_value(), "mergesort");
  EXPECT_EQ(json.fields().at("engine").string_value(), "cpu");
  EXPECT_GT(json.fields().at("kernel_ns").number_value(), 0);
  const auto& outputs = json.fields().at("outputs").list_value().values();
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_EQ(outputs[1].struct_value().fields().at("path").string_value(), Path("r.bin"));
  EXPECT_EQ(outputs[1].struct_value().fields().at("count").number_value(), 5000);
}

TEST_F(CliTest, SortsAStreamBySegmentsAndToALimit) {
  const std::vector<uint8_t> keys = {5, 4, 9, 1, 7, 2};
  PutInt64s("segments.npy", {0, 2, 6});
  const Finished segmented =
      Corank({"sort", "-", "-t", "u8", "--segments", Path("segments.npy"), "-o", "-"}, Raw(keys));
  ASSERT_EQ(segmented.exit_code, 0) << segmented.err;
  EXPECT_EQ(segmented.out, Raw(std::vector<uint8_t>{4, 5, 1, 2, 7, 9}));
  const Finished first =
      Corank({"sort", "-", "-t", "u8", "--segments", Path("segments.npy"), "--limit", "3", "-o", "-"}, Raw(keys));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, Raw(std::vector<uint8_t>{4, 5, 1, 2, 7}));
  const Finished limited = Corank({"sort", "-", "--limit", "2", "-o", "-", "--quiet"}, Npy("|u1", keys));
  ASSERT_EQ(limited.exit_code, 0) << limited.err;
  EXPECT_THAT(FromNpy<uint8_t>(limited.out, "|u1"), ElementsAre(1, 2));
  EXPECT_THAT(limited.err, IsEmpty());
  const Finished nth = Corank({"sort", "-", "--offset", "3", "--limit", "1", "-o", "-", "--quiet"}, Npy("|u1", keys));
  ASSERT_EQ(nth.exit_code, 0) << nth.err;
  EXPECT_THAT(FromNpy<uint8_t>(nth.out, "|u1"), ElementsAre(5));
  const Finished none = Corank({"argsort", "-", "--offset", "7", "-o", "-", "--quiet"}, Npy("|u1", keys));
  ASSERT_EQ(none.exit_code, 0) << none.err;
  EXPECT_THAT(FromNpy<uint32_t>(none.out, "<u4"), IsEmpty());
}

TEST_F(CliTest, ArgsortGivesThePermutationAndTheKeys) {
  WriteFile(Path("keys.npy"), Npy("<i4", std::vector<int32_t>{30, 10, 20, 10}));
  const Finished done =
      Corank({"argsort", Path("keys.npy"), "-o", Path("order.npy"), "--keys-output", Path("sorted.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("order.npy")), "<u4"), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("sorted.npy")), "<i4"), ElementsAre(10, 10, 20, 30));
}

TEST_F(CliTest, MergeTakesInputsInTheirOrder) {
  WriteFile(Path("a.npy"), Npy("<u4", std::vector<uint32_t>{1, 4}));
  WriteFile(Path("b.npy"), Npy("<u4", std::vector<uint32_t>{1, 2, 9}));
  WriteFile(Path("a.row"), "ad");
  WriteFile(Path("b.row"), "bce");
  const Finished done = Corank({"merge", Path("a.npy"), Path("b.npy"), "-o", Path("all.npy"), "--values", Path("a.row"),
                                "--values", Path("b.row"), "--values-type", "u8", "--values-output", Path("all.row")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("all.npy")), "<u4"), ElementsAre(1, 1, 2, 4, 9));
  EXPECT_EQ(ReadFile(Path("all.row")), "abcde");
}

TEST_F(CliTest, ExpandRepeatsValues) {
  WriteFile(Path("values.npy"), Npy("|V3", std::vector<std::array<char, 3>>{{'a', 'b', 'c'}, {'x', 'y', 'z'}}));
  PutInt64s("counts.npy", {1, 2});
  const Finished done =
      Corank({"expand", Path("values.npy"), "--counts", Path("counts.npy"), "-o", Path("expanded.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::string file = ReadFile(Path("expanded.npy"));
  EXPECT_THAT(file, HasSubstr("'|V3'"));
  EXPECT_EQ(file.substr(file.find('\n') + 1), "abcxyzxyz");
}

TEST_F(CliTest, MoveGatherAndScatterCopyIntervals) {
  WriteFile(Path("source.bin"), "abcdef");
  WriteFile(Path("old.bin"), "......");
  PutInt64s("from.npy", {4, 0});
  PutInt64s("to.npy", {0, 3});
  PutInt64s("counts.npy", {2, 1});
  const Finished moved = Corank({"move", Path("source.bin"), "-t", "u8", "--source-offsets", Path("from.npy"),
                                 "--destination-offsets", Path("to.npy"), "--counts", Path("counts.npy"),
                                 "--destination", Path("old.bin"), "-o", Path("moved.bin")});
  ASSERT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_EQ(ReadFile(Path("moved.bin")), "ef.a..");
  const Finished gathered = Corank({"gather", Path("source.bin"), "-t", "u8", "--source-offsets", Path("from.npy"),
                                    "--counts", Path("counts.npy"), "-o", Path("gathered.bin")});
  ASSERT_EQ(gathered.exit_code, 0) << gathered.err;
  EXPECT_EQ(ReadFile(Path("gathered.bin")), "efa");
  const Finished scattered =
      Corank({"scatter", Path("gathered.bin"), "-t", "u8", "--destination-offsets", Path("to.npy"), "--counts",
              Path("counts.npy"), "--destination-count", "5", "-o", Path("scattered.bin")});
  ASSERT_EQ(scattered.exit_code, 0) << scattered.err;
  EXPECT_EQ(ReadFile(Path("scattered.bin")), std::string("ef\0a\0", 5));
}

TEST_F(CliTest, LoadBalanceNamesObjectsAndRanks) {
  PutInt64s("counts.npy", {2, 0, 1});
  const Finished done =
      Corank({"load-balance", Path("counts.npy"), "-o", Path("objects.npy"), "--ranks-output", Path("ranks.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("objects.npy")), "<u4"), ElementsAre(0, 0, 2));
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("ranks.npy")), "<u4"), ElementsAre(0, 1, 0));
}

TEST_F(CliTest, SearchFindsBounds) {
  WriteFile(Path("haystack.npy"), Npy("<f4", std::vector<float>{1, 2, 2, 3}));
  WriteFile(Path("needles.npy"), Npy("<f4", std::vector<float>{2, 0, NAN}));
  const Finished done =
      Corank({"search", Path("haystack.npy"), Path("needles.npy"), "--bound", "upper", "-o", Path("positions.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("positions.npy")), "<u4"), ElementsAre(3, 0, 4));
}

TEST_F(CliTest, GroupWritesTheFilesThatAreNamed) {
  WriteFile(Path("k.npy"), Npy("<i4", std::vector<int32_t>{7, 5, 7, 7, 9}));
  WriteFile(Path("v.npy"), Npy("<f4", std::vector<float>{1.5F, 2, 3, -4, 8}));
  const Finished done = Corank({"group", Path("k.npy"), "-o", Path("keys.npy"), "--counts-output", Path("counts.npy"),
                                "--firsts-output", Path("firsts.npy"), "--values", Path("v.npy"), "--sums-output",
                                Path("sums.npy"), "--maxima-output", Path("maxima.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("keys.npy")), "<i4"), ElementsAre(5, 7, 9));
  EXPECT_THAT(FromNpy<int64_t>(ReadFile(Path("counts.npy")), "<i8"), ElementsAre(1, 3, 1));
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("firsts.npy")), "<u4"), ElementsAre(1, 0, 4));
  EXPECT_THAT(FromNpy<double>(ReadFile(Path("sums.npy")), "<f8"), ElementsAre(2.0, 0.5, 8.0));
  EXPECT_THAT(FromNpy<float>(ReadFile(Path("maxima.npy")), "<f4"), ElementsAre(2, 3, 8));
  WriteFile(Path("k.txt"), "7\n5\n7\n");
  EXPECT_EQ(Corank({"group", Path("k.txt")}).out, "5\n7\n");
  EXPECT_EQ(Corank({"group", Path("k.txt"), "--input", "runs"}).out, "7\n5\n7\n");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--sums-output", Path("s.npy")},
                                                {"--values", Path("v.npy")},
                                                {"--input", "runs", "--descending"},
                                                {"--input", "run"}}) {
    std::vector<std::string> words = {"group", Path("k.txt")};
    words.insert(words.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(Corank(words).exit_code, 2) << wrong[0];
  }
}

TEST_F(CliTest, JoinWritesOrCountsRows) {
  WriteFile(Path("a.npy"), Npy("<i4", std::vector<int32_t>{5, 1, 5}));
  WriteFile(Path("b.npy"), Npy("<i4", std::vector<int32_t>{5, 7, 5, 5, 5}));
  const Finished done = Corank({"join", Path("a.npy"), Path("b.npy"), "--kind", "full", "-o", Path("left.npy"),
                                "--right-output", Path("right.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("left.npy")), "<i4"), ElementsAre(0, 0, 0, 0, 1, 2, 2, 2, 2, -1));
  EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("right.npy")), "<i4"), ElementsAre(0, 2, 3, 4, -1, 0, 2, 3, 4, 1));
  EXPECT_EQ(Corank({"join", Path("a.npy"), Path("b.npy"), "--count"}).out, "8\n");
  WriteFile(Path("a.txt"), "5\n1\n5\n");
  WriteFile(Path("b.txt"), "5\n7.5\n");
  EXPECT_EQ(Corank({"join", Path("a.txt"), Path("b.txt"), "--kind", "anti"}).out, "1\n");
  EXPECT_EQ(Corank({"join", Path("a.txt"), Path("b.txt"), "--kind", "semi", "--right-sorted"}).out, "0\n2\n");
  EXPECT_THAT(Corank({"join", Path("a.npy"), Path("b.npy"), "--max-rows", "7", "-o", Path("x.npy")}).err,
              HasSubstr("8 rows"));
  EXPECT_THAT(Corank({"join", Path("b.txt"), Path("a.txt"), "--right-sorted"}).err, HasSubstr("a.txt"));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--kind", "outer"},
                                                {"--count", "-o", Path("x.npy")},
                                                {"--count", "--max-rows", "5"},
                                                {"--kind", "semi", "--right-output", Path("x.npy")}}) {
    std::vector<std::string> words = {"join", Path("a.npy"), Path("b.npy")};
    words.insert(words.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(Corank(words).exit_code, 2) << wrong[0];
  }
}

TEST_F(CliTest, SelectKeepsRemovesAndPartitions) {
  WriteFile(Path("a.npy"), Npy("<i4", std::vector<int32_t>{5, 1, -7, 9}));
  WriteFile(Path("v.npy"), Npy("<u2", std::vector<uint16_t>{10, 20, 30, 40}));
  WriteFile(Path("flags.npy"), Npy("|u1", std::vector<uint8_t>{0, 2, 0, 1}));
  WriteFile(Path("flags.txt"), "0\n256\n0\n-1\n");
  WriteFile(Path("positions.npy"), Npy("<i8", std::vector<int64_t>{3, 0}));
  for (const char* flags : {"flags.npy", "flags.txt"}) {
    const Finished done = Corank({"select", "--force", Path("a.npy"), "--flags", Path(flags), "--partition", "-o",
                                  Path("out.npy"), "--values", Path("v.npy"), "--values-output", Path("values.npy"),
                                  "--indices-output", Path("indices.npy"), "--count"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(done.out, "2\n");
    EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("out.npy")), "<i4"), ElementsAre(1, 9, 5, -7));
    EXPECT_THAT(FromNpy<uint16_t>(ReadFile(Path("values.npy")), "<u2"), ElementsAre(20, 40, 10, 30));
    EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("indices.npy")), "<u4"), ElementsAre(1, 3, 0, 2));
  }
  ASSERT_EQ(Corank({"select", "--force", Path("a.npy"), "--positions", Path("positions.npy"), "--negate", "-o",
                    Path("out.npy")})
                .exit_code,
            0);
  EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("out.npy")), "<i4"), ElementsAre(1, -7));
  WriteFile(Path("a.txt"), "5\n1.5\n-7\n");
  EXPECT_EQ(Corank({"select", Path("a.txt"), "--threshold", "1.5", "--comparison", "less-or-equal"}).out, "1.5\n-7\n");
  EXPECT_EQ(Corank({"select", Path("a.npy"), "--threshold", "0", "--comparison", "greater", "--count"}).out, "3\n");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                {"--flags", Path("flags.npy"), "--positions", Path("positions.npy")},
                                                {"--threshold", "3000000000", "--comparison", "less"},
                                                {"--threshold", "3"},
                                                {"--flags", Path("flags.npy"), "--values", Path("v.npy")}}) {
    std::vector<std::string> words = {"select", Path("a.npy"), "-o", Path("x.npy")};
    words.insert(words.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(Corank(words).exit_code, 2) << words.back();
  }
}

TEST_F(CliTest, RankAndInsertWriteTheirResults) {
  WriteFile(Path("a.txt"), "5\n1\n5\n");
  EXPECT_EQ(Corank({"rank", Path("a.txt")}).out, "2.5\n1\n2.5\n");
  EXPECT_EQ(Corank({"rank", Path("a.txt"), "--method", "dense", "--descending"}).out, "1\n2\n1\n");
  EXPECT_THAT(Corank({"rank", Path("a.txt"), "--keys-sorted"}).err, HasSubstr("a.txt"));
  EXPECT_EQ(Corank({"rank", Path("a.txt"), "--method", "mean"}).exit_code, 2);
  PutInt64s("segments.npy", {0, 1, 3});
  EXPECT_EQ(Corank({"rank", Path("a.txt"), "--method", "dense", "--segments", Path("segments.npy")}).out, "1\n1\n2\n");
  WriteFile(Path("b.txt"), "0.5\n8\n");
  WriteFile(Path("where.txt"), "3\n0\n");
  EXPECT_EQ(Corank({"insert", Path("a.txt"), Path("b.txt"), "--positions", Path("where.txt")}).out,
            "8\n5\n1\n5\n0.5\n");
  WriteFile(Path("where.txt"), "4\n0\n");
  EXPECT_THAT(Corank({"insert", Path("a.txt"), Path("b.txt"), "--positions", Path("where.txt")}).err,
              HasSubstr("positions[0]"));
  WriteFile(Path("c.npy"), Npy("<i4", std::vector<int32_t>{7}));
  WriteFile(Path("where.txt"), "0\n");
  EXPECT_THAT(Corank({"insert", Path("a.txt"), Path("c.npy"), "--positions", Path("where.txt")}).err,
              HasSubstr("int32"));
  EXPECT_THAT(Corank({"insert", Path("a.txt"), Path("b.txt"), "--positions", Path("where.txt")}).err,
              HasSubstr("1 positions for 2"));
}

TEST_F(CliTest, CombineSetsWritesOrCountsTheResult) {
  WriteFile(Path("a.npy"), Npy("<i4", std::vector<int32_t>{1, 3, 3}));
  WriteFile(Path("b.npy"), Npy("<i4", std::vector<int32_t>{3, 5}));
  WriteFile(Path("va.npy"), Npy("<f4", std::vector<float>{1, 2, 3}));
  WriteFile(Path("vb.npy"), Npy("<f4", std::vector<float>{4, 5}));
  const Finished done = Corank({"combine-sets", Path("a.npy"), Path("b.npy"), "-o", Path("keys.npy"), "--left-values",
                                Path("va.npy"), "--right-values", Path("vb.npy"), "--values-output", Path("v.npy")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("keys.npy")), "<i4"), ElementsAre(1, 3, 3, 5));
  EXPECT_THAT(FromNpy<float>(ReadFile(Path("v.npy")), "<f4"), ElementsAre(1, 2, 3, 5));
  WriteFile(Path("a.txt"), "1\n3\n3\n");
  WriteFile(Path("b.txt"), "3\n5.5\n");
  EXPECT_EQ(Corank({"combine-sets", Path("a.txt"), Path("b.txt"), "--operation", "difference"}).out, "1\n3\n");
  EXPECT_EQ(Corank({"combine-sets", Path("a.npy"), Path("b.npy"), "--count"}).out, "4\n");
  WriteFile(Path("c.txt"), "3\n2\n");
  EXPECT_THAT(Corank({"combine-sets", Path("a.txt"), Path("c.txt")}).err, HasSubstr("c.txt"));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--operation", "unoin"},
                                                {"--count", "-o", Path("x.npy")},
                                                {"--left-values", Path("va.npy")},
                                                {"--operation", "difference", "--right-values", Path("vb.npy")}}) {
    std::vector<std::string> words = {"combine-sets", Path("a.npy"), Path("b.npy")};
    words.insert(words.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(Corank(words).exit_code, 2) << wrong[0];
  }
}

TEST_F(CliTest, InfoSaysWhatTheServerIs) {
  const Finished table = Corank({"info"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("engine            cpu ("));
  const Finished json = Corank({"info", "--json"});
  EXPECT_EQ(Json(json.out).fields().at("engine").string_value(), "cpu");
  EXPECT_GT(Json(json.out).fields().at("limits").struct_value().fields().at("max_request_bytes").number_value(), 0);
}

TEST_F(CliTest, BenchMeasuresEveryOperator) {
  for (const char* operation :
       {"sort", "argsort", "merge", "expand", "move", "gather", "scatter", "load-balance", "search"}) {
    const Finished done = Corank({"bench", "--operator", operation, "--type", "f16", "--count", "500", "--in-flight",
                                  "2", "--seconds", "50ms", "--json"});
    ASSERT_EQ(done.exit_code, 0) << operation << ": " << done.err;
    const auto json = Json(done.out);
    EXPECT_GT(json.fields().at("calls").number_value(), 0) << operation;
    EXPECT_EQ(json.fields().at("failed").number_value(), 0) << operation;
    EXPECT_LE(json.fields().at("p50_us").number_value(), json.fields().at("p99_us").number_value()) << operation;
  }
  const Finished table = Corank({"bench", "--count", "10", "--seconds", "50ms"});
  EXPECT_THAT(table.out, HasSubstr("the first answer is correct"));
}

TEST_F(CliTest, VersionAndHelpNeedNoServer) {
  for (const char* word : {"version", "--version", "-V"}) {
    const Finished version = Corank({word});
    EXPECT_EQ(version.exit_code, 0) << word;
    EXPECT_THAT(version.out, ::testing::MatchesRegex(
                                 "corank [0-9]+\\.[0-9]+\\.[0-9]+ \\((commit [0-9a-f]{12}(-dirty)?, )?.* build\\)\n"));
  }
  const Finished help = Corank({"help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command :
       {"sort", "merge", "argsort", "move", "expand", "gather", "scatter", "load-balance", "search", "group",
        "combine-sets", "join", "select", "rank", "insert", "info", "bench", "version", "help"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  ") + command + " "));
  }
  EXPECT_EQ(Corank({"sort", "--help"}).out, Corank({"help", "sort"}).out);
  EXPECT_THAT(Corank({"sort", "--help"}).out, HasSubstr("--values-output"));
  for (const char* word : {"version", "help", "completion"}) {
    const Finished of_word = Corank({"help", word});
    EXPECT_EQ(of_word.exit_code, 0) << of_word.err;
    EXPECT_THAT(of_word.out, HasSubstr(std::string("Usage: corank ") + word));
  }
}

// NumPy reads '|V2' as raw bytes; text must stay text.
TEST_F(CliTest, BytesKeepTheirDtype) {
  WriteFile(Path("k.npy"), Npy("<i4", std::vector<int32_t>{3, 1, 2}));
  WriteFile(Path("n.npy"), Npy("<i8", std::vector<int64_t>{1, 1, 1}));
  for (const std::string descr : {"|S2", "|V2"}) {
    WriteFile(Path("v.npy"), Npy(descr, std::vector<uint16_t>{30, 10, 20}));
    const std::vector<std::vector<std::string>> runs = {
        {"sort", Path("k.npy"), "--values", Path("v.npy"), "-o", Path("ko.npy"), "--values-output", Path("o.npy"),
         "-f"},
        {"merge", Path("ko.npy"), Path("ko.npy"), "--values", Path("v.npy"), "--values", Path("v.npy"), "-o",
         Path("m.npy"), "--values-output", Path("o.npy"), "-f"},
        {"gather", Path("v.npy"), "--source-offsets", Path("n.npy"), "--counts", Path("n.npy"), "-o", Path("o.npy"),
         "-f"}};
    for (const std::vector<std::string>& run : runs) {
      const Finished done = Corank(run);
      ASSERT_EQ(done.exit_code, 0) << done.err;
      EXPECT_FALSE(FromNpy<uint16_t>(ReadFile(Path("o.npy")), descr).empty()) << run[0];
    }
  }
  // Writes directly to the file.
  std::vector<uint32_t> keys(1 << 20);
  std::iota(keys.rbegin(), keys.rend(), 0);
  WriteFile(Path("k.npy"), Npy("<u4", keys));
  WriteFile(Path("v.npy"), Npy("|S4", keys));
  ASSERT_EQ(Corank({"sort", Path("k.npy"), "--values", Path("v.npy"), "-o", Path("ko.npy"), "--values-output",
                    Path("o.npy"), "-f"})
                .exit_code,
            0);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(FromNpy<uint32_t>(ReadFile(Path("o.npy")), "|S4"), keys);
}

TEST_F(CliTest, ArgsortsRowsOfSeveralColumns) {
  WriteFile(Path("codes.npy"), Npy("|S2", std::vector<uint16_t>{0x6262, 0x6161, 0x6262, 0x6161}));
  WriteFile(Path("sizes.npy"), Npy("<f4", std::vector<float>{1, 2, 3, 4}));
  const Finished run = Corank(
      {"argsort-columns", Path("codes.npy"), Path("sizes.npy"), "--descending-column", "2", "-o", Path("order.npy")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("order.npy")), "<u4"), ElementsAre(3, 1, 2, 0));

  PutInt64s("segments.npy", {0, 1, 4});
  const Finished segmented = Corank({"argsort-columns", Path("codes.npy"), Path("sizes.npy"), "--segments",
                                     Path("segments.npy"), "-o", Path("each.npy")});
  ASSERT_EQ(segmented.exit_code, 0) << segmented.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("each.npy")), "<u4"), ElementsAre(0, 1, 3, 2));
  const Finished limited = Corank({"argsort-columns", Path("codes.npy"), Path("sizes.npy"), "--segments",
                                   Path("segments.npy"), "--limit", "2", "-o", Path("first.npy")});
  ASSERT_EQ(limited.exit_code, 0) << limited.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("first.npy")), "<u4"), ElementsAre(0, 1, 3));

  const Finished wrong = Corank({"argsort-columns", Path("codes.npy"), "--descending-column", "2", "-o", Path("x")});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--descending-column is a number from 1 to 1, not '2'"));
}

}  // namespace
}  // namespace corank::testing
