// Execute: searches with arrays or positions larger than a request's share of the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

template <typename Key>
std::vector<Key> Keys(int64_t count, int64_t different, uint64_t seed) {
  Random random(seed);
  std::vector<Key> keys(static_cast<size_t>(count));
  for (Key& key : keys) key = static_cast<Key>(random.Below(different));
  return keys;
}

template <typename Key>
std::string Positions(const std::vector<Key>& haystack, const std::vector<Key>& needles, bool upper) {
  std::vector<uint32_t> positions;
  for (const Key needle : needles) {
    const auto at = upper ? std::upper_bound(haystack.begin(), haystack.end(), needle)
                          : std::lower_bound(haystack.begin(), haystack.end(), needle);
    positions.push_back(static_cast<uint32_t>(at - haystack.begin()));
  }
  return BytesOf(positions);
}

class StreamSearchTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMostOnDevice = 1 << 20;
  static constexpr int64_t kNeedles = 300'000;

  static Server::Options SmallDevice() {
    Server::Options options = TestOptions();
    options.streams.max_device_bytes = kMostOnDevice;
    options.streams.max_host_bytes = 8 << 20;
    options.streams.piece_bytes = 100'000;
    options.streams.window_bytes = 256 << 10;
    return options;
  }

  // A plan with the haystack in stream 0, needles in stream 1, and positions in stream 9. -1: unknown length.
  static v1::Plan SearchPlan(v1::ElementType type, int64_t haystack, int64_t needles) {
    v1::Plan plan;
    v1::SearchRequest& search = *plan.add_operations()->mutable_search();
    *search.mutable_haystack() = Streamed(type, haystack, 0);
    *search.mutable_needles() = Streamed(type, needles, 1);
    *search.mutable_destination() = ToStream(9);
    return plan;
  }

  StreamedAnswer Run(const v1::Plan& plan, const std::vector<StreamedInput>& inputs) {
    return Execute(running_.stub(), plan, Chunks(inputs, 3000));
  }

  void ExpectPositions(const StreamedAnswer& answer, const std::string& expected, bool out_of_core) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(answer.Output(9, 4) == expected);
    ASSERT_EQ(answer.results.size(), 1U);
    EXPECT_EQ(answer.results[0].search().stats().out_of_core(), out_of_core);
    EXPECT_EQ(answer.results[0].search().positions().count(), static_cast<int64_t>(expected.size() / 4));
    EXPECT_TRUE(Eventually([this] { return running_.server().jobs().memory_in_use == 0; }));
  }

  RunningServer running_{SmallDevice(), ReachEngine()};
};

TEST_F(StreamSearchTest, FindsMoreNeedlesThanTheDeviceMayHold) {
  const std::vector<uint32_t> needles = Keys<uint32_t>(kNeedles, 50'000, 1);
  for (const int64_t count : {20'000, 200'000}) {  // fits on the device; more than half of it
    std::vector<uint32_t> haystack = Keys<uint32_t>(count, 50'000, 2);
    std::sort(haystack.begin(), haystack.end());
    for (const bool known : {true, false}) {
      SCOPED_TRACE(::testing::Message() << "in " << count << (known ? "" : ", of unknown length"));
      v1::Plan plan = SearchPlan(v1::ELEMENT_TYPE_UINT32, known ? count : -1, known ? kNeedles : -1);
      plan.mutable_operations(0)->mutable_search()->set_bound(v1::SEARCH_BOUND_UPPER);
      const StreamedAnswer answer =
          Run(plan, {{0, 4, BytesOf(haystack), 0, !known}, {1, 4, BytesOf(needles), 0, !known}});
      ExpectPositions(answer, Positions(haystack, needles, true), true);
    }
  }
}

TEST_F(StreamSearchTest, FindsMorePositionsThanTheDeviceMayHold) {
  const std::vector<uint8_t> needles = Keys<uint8_t>(kNeedles, 256, 3);
  std::vector<uint8_t> haystack = Keys<uint8_t>(10'000, 200, 4);
  std::sort(haystack.begin(), haystack.end());
  const v1::Plan plan = SearchPlan(v1::ELEMENT_TYPE_UINT8, 10'000, kNeedles);
  ExpectPositions(Run(plan, {{0, 1, BytesOf(haystack)}, {1, 1, BytesOf(needles)}}), Positions(haystack, needles, false),
                  false);
}

TEST_F(StreamSearchTest, FindsRowsInTablesThatTheDeviceMayNotHold) {
  // The prefixes of a word, and a number that may be null. A row's code is ten times the prefix's length, and the
  // number.
  const auto arrays_of = [](const std::vector<int64_t>& codes) {
    const std::string word = "abcdefghijklmnop";
    std::string texts, validity((codes.size() + 7) / 8, '\0');
    std::vector<int64_t> offsets = {0};
    std::vector<int32_t> numbers;
    for (size_t i = 0; i < codes.size(); ++i) {
      texts += word.substr(0, static_cast<size_t>(codes[i] / 10));
      offsets.push_back(static_cast<int64_t>(texts.size()));
      numbers.push_back(static_cast<int32_t>(codes[i] % 10));
      const bool is_valid = codes[i] % 10 < 9;  // nulls come last
      validity[i / 8] = static_cast<char>(validity[i / 8] | static_cast<int>(is_valid) << (i % 8));
    }
    return std::vector<std::string>{texts, BytesOf(offsets), BytesOf(numbers), validity};
  };
  constexpr v1::ElementType kTypes[] = {v1::ELEMENT_TYPE_UINT8, v1::ELEMENT_TYPE_INT64, v1::ELEMENT_TYPE_INT32,
                                        v1::ELEMENT_TYPE_UINT8};
  constexpr int32_t kBytes[] = {1, 8, 4, 1};
  uint64_t seed = 20;
  struct Case {
    int64_t haystack_rows, needle_rows;
    bool is_in_message;  // the haystack's offsets and validity; all other arrays come in streams
  };
  for (const auto& [haystack_rows, needle_rows, is_in_message] : {Case{150'000, 3'000, false},
                                                                  {2'000, 200'003, false},
                                                                  {100'000, 100'001, false},
                                                                  {2'000, 200'003, true},
                                                                  {100'000, 100'001, true}}) {
    for (const bool known : {true, false}) {
      SCOPED_TRACE(::testing::Message() << needle_rows << " in " << haystack_rows << (known ? "" : ", unknown length")
                                        << (is_in_message ? ", in part in the message" : ""));
      std::vector<int64_t> haystack = Keys<int64_t>(haystack_rows, 160, ++seed);
      std::sort(haystack.begin(), haystack.end());
      const std::vector<int64_t> needles = Keys<int64_t>(needle_rows, 160, ++seed);
      v1::Plan plan;
      v1::SearchRequest& search = *plan.add_operations()->mutable_search();
      search.set_bound(v1::SEARCH_BOUND_UPPER);
      *search.mutable_destination() = ToStream(9);
      std::vector<StreamedInput> inputs;
      for (const bool is_haystack : {true, false}) {
        const std::vector<std::string> arrays = arrays_of(is_haystack ? haystack : needles);
        auto& columns = is_haystack ? *search.mutable_haystack_columns() : *search.mutable_needle_columns();
        v1::KeyColumn& texts = *columns.Add();
        v1::KeyColumn& numbers = *columns.Add();
        v1::Array* const messages[] = {texts.mutable_data(), texts.mutable_offsets(), numbers.mutable_data(),
                                       numbers.mutable_validity()};
        for (size_t i = 0; i < arrays.size(); ++i) {
          if (is_in_message && is_haystack && i % 2 == 1) {
            messages[i]->set_type(kTypes[i]);
            messages[i]->set_inline_data(arrays[i]);
            continue;
          }
          const auto id = static_cast<uint32_t>(inputs.size());
          const int64_t count = static_cast<int64_t>(arrays[i].size()) / kBytes[i];
          *messages[i] = Streamed(kTypes[i], known ? count : -1, id);
          inputs.push_back({id, kBytes[i], arrays[i], 0, !known});
        }
      }
      ExpectPositions(Run(plan, inputs), Positions(haystack, needles, true), true);
    }
  }
}

TEST_F(StreamSearchTest, LeavesRoomForPositionsWhereTheArraysJustFit) {
  constexpr int64_t kHalf = kMostOnDevice / 8;  // keys
  const std::vector<uint32_t> needles = Keys<uint32_t>(kHalf, 50'000, 8);
  std::vector<uint32_t> haystack = Keys<uint32_t>(kHalf, 50'000, 9);
  std::sort(haystack.begin(), haystack.end());
  const StreamedAnswer answer =
      Run(SearchPlan(v1::ELEMENT_TYPE_UINT32, kHalf, kHalf), {{0, 4, BytesOf(haystack)}, {1, 4, BytesOf(needles)}});
  ExpectPositions(answer, Positions(haystack, needles, false), true);
}

TEST_F(StreamSearchTest, ReportsAHaystackThatIsNotSortedBeforeAnyPosition) {
  std::vector<uint32_t> haystack = Keys<uint32_t>(200'000, 50'000, 5);
  std::sort(haystack.begin(), haystack.end());
  std::swap(haystack.front(), haystack.back());
  for (const int64_t needles : {kNeedles, int64_t{5}, int64_t{0}}) {
    SCOPED_TRACE(needles);
    v1::Plan plan = SearchPlan(v1::ELEMENT_TYPE_UINT32, 200'000, needles);
    const std::vector<StreamedInput> inputs = {{0, 4, BytesOf(haystack)},
                                               {1, 4, BytesOf(Keys<uint32_t>(needles, 9, 6))}};
    const StreamedAnswer refused = Run(plan, inputs);
    EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(BadField(refused.status), "plan.operations[0].haystack") << refused.status.error_message();
    EXPECT_THAT(refused.status.error_message(), HasSubstr("index 1 "));
    EXPECT_TRUE(refused.chunks.empty());
    plan.mutable_operations(0)->mutable_search()->set_assume_sorted(true);
    const StreamedAnswer assumed = Run(plan, inputs);
    ASSERT_TRUE(assumed.status.ok()) << assumed.status.error_message();
    EXPECT_EQ(static_cast<int64_t>(assumed.Output(9, 4).size()), 4 * needles);
  }
}

TEST_F(StreamSearchTest, FindsNeedlesInNothing) {
  const StreamedAnswer answer = Run(SearchPlan(v1::ELEMENT_TYPE_UINT32, 0, kNeedles),
                                    {{0, 4, ""}, {1, 4, BytesOf(Keys<uint32_t>(kNeedles, 9, 7))}});
  ExpectPositions(answer, std::string(static_cast<size_t>(4 * kNeedles), '\0'), true);
}

TEST(StreamSearch, AnArrayOfUnknownLengthStaysOnADeviceThatMayHaveMoreThanTheHost) {
  Server::Options options = TestOptions();
  options.streams.max_device_bytes = 1 << 20;
  options.streams.max_host_bytes = 100'000;
  options.streams.window_bytes = 256 << 10;
  RunningServer running(options, ReachEngine());
  v1::Plan plan;
  v1::SearchRequest& search = *plan.add_operations()->mutable_search();
  *search.mutable_haystack() = Streamed(v1::ELEMENT_TYPE_UINT32, -1, 0);
  *search.mutable_needles() = MakeArray(v1::ELEMENT_TYPE_UINT32, "\1\0\0\0", 4);
  const std::string haystack(400'000, '\0');
  const StreamedAnswer answer = Execute(running.stub(), plan, Chunks({{0, 4, haystack, 0, true}}, 3000));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_FALSE(answer.results[0].search().stats().out_of_core());
}

TEST_F(StreamSearchTest, WhatIsTooMuchForTheHostIsRefusedBeforeItComes) {
  const grpc::Status status = Run(SearchPlan(v1::ELEMENT_TYPE_UINT32, 10, (2 << 20) + 1), {}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(BadField(status), "plan.operations[0].needles.count") << status.error_message();
}

}  // namespace
}  // namespace corank::testing
