// Large arrays in shared memory, sorted and merged in pieces, on the CPU engine. The arrays are small; the server's
// settings make it treat them as large.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/memory_calls.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRegionBytes = int64_t{8} << 20;
constexpr int64_t kHalf = kRegionBytes / 2;

// The parameter is the device memory for one request.
class SharedPiecesTest : public ::testing::TestWithParam<int64_t> {
 protected:
  SharedPiecesTest() { EXPECT_TRUE(memory_.Register(object_).ok()); }

  template <typename T>
  std::vector<T> Read(int64_t offset_bytes, size_t count) {
    return std::vector<T>(object_.As<T>(offset_bytes), object_.As<T>(offset_bytes) + count);
  }
  // Keys at the start of the region, with many equal ones.
  std::vector<uint32_t> MakeTies(size_t count) {
    std::generate_n(object_.As<uint32_t>(), count, [this] { return random_() % 1000; });
    return Read<uint32_t>(0, count);
  }
  static std::vector<uint32_t> StableOrderOf(const std::vector<uint32_t>& keys) {
    std::vector<uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&keys](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    return order;
  }
  template <typename Request>
  typename Unary<Request>::Response Run(const Request& request) {
    grpc::ClientContext context;
    typename Unary<Request>::Response response;
    const grpc::Status status = Call(server_.stub(), &context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  SharedObject object_{kRegionBytes};
  RunningServer server_{PiecesOptions(GetParam()), ReachEngine()};
  const MemoryCalls memory_{server_.channel()};
  std::mt19937 random_{11};
};

// 100003 rows of 8 bytes: within the device memory, and far beyond it.
INSTANTIATE_TEST_SUITE_P(Memory, SharedPiecesTest, ::testing::Values(int64_t{64} << 20, int64_t{300000}));

TEST(PiecesMemoryTest, CountsWithThatOfStreams) {
  std::atomic<const Server*> server{nullptr};
  std::atomic<int64_t> most{0};
  auto [puppet, engine] = MakePuppet([&](const std::string& phase, OperatorReport*) {
    const Server* const running = server;
    if (phase == "Run" && running != nullptr) most = std::max<int64_t>(most, running->jobs().memory_in_use);
    return absl::OkStatus();
  });
  Server::Options options = PiecesOptions(int64_t{64} << 20);
  options.device_budget_bytes = int64_t{64} << 20;
  const RunningServer running(options, std::move(engine));
  server = &running.server();
  const SharedObject object(kRegionBytes);
  const MemoryCalls memory(running.channel());
  ASSERT_TRUE(memory.Register(object).ok());
  v1::SortRequest request;
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, 100003, 0);
  *request.mutable_keys_destination() = ToRegion(kHalf);
  grpc::ClientContext context;
  v1::SortResponse response;
  Call(running.stub(), &context, request, &response);  // a puppet's answer may be wrong
  EXPECT_GT(most, 0);
  EXPECT_EQ(running.server().jobs().memory_in_use, 0);
}

TEST_P(SharedPiecesTest, SortWithValuesIsStable) {
  constexpr size_t kCount = 100003;
  uint32_t* const keys = object_.As<uint32_t>();
  uint32_t* const values = object_.As<uint32_t>(int64_t{1} << 20);
  std::generate_n(keys, kCount, [this] { return random_() % 1000; });
  std::iota(values, values + kCount, 0);
  std::vector<std::pair<uint32_t, uint32_t>> expected(kCount);
  for (size_t i = 0; i < kCount; ++i) expected[i] = {keys[i], values[i]};
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  v1::SortRequest request;
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, kCount, 0);
  *request.mutable_values() = InRegion(v1::ELEMENT_TYPE_UINT32, kCount, int64_t{1} << 20);
  request.set_order(v1::SORT_ORDER_DESCENDING);
  *request.mutable_keys_destination() = ToRegion(0);  // in place
  *request.mutable_values_destination() = ToRegion(kHalf);
  const v1::SortResponse response = Run(request);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(keys[i], expected[i].first) << i;
    ASSERT_EQ(object_.As<uint32_t>(kHalf)[i], expected[i].second) << i;
  }
  EXPECT_EQ(response.values().shared_memory().offset_bytes(), kHalf);
  EXPECT_GT(response.stats().runs(), 1);
  EXPECT_EQ(response.stats().out_of_core(), GetParam() < 1600000);
}

TEST_P(SharedPiecesTest, TheNextSortTakesTheBuffersOfTheLast) {
  const RunBuffers& buffers = server_.server().run_buffers();
  MakeTies(100003);
  v1::SortRequest request;
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, 100003, 0);
  *request.mutable_keys_destination() = ToRegion(kHalf);
  Run(request);
  EXPECT_TRUE(Eventually([&buffers] { return buffers.bytes_in_use() == 0; }));
  const int64_t allocated = buffers.allocations();
  EXPECT_EQ(allocated > 0, GetParam() < 800000) << "runs lie on the host only where the device has no room for them";
  EXPECT_EQ(buffers.kept_bytes(), GetParam() < 800000 ? 100003 * 4 : 0);
  Run(request);
  EXPECT_EQ(buffers.allocations(), allocated);
}

TEST_P(SharedPiecesTest, IndicesAndFirstRowsAreThoseOfTheWholeArray) {
  constexpr size_t kCount = 100003;
  const std::vector<uint32_t> before = MakeTies(kCount), order = StableOrderOf(before);
  for (const v1::SortOutput output : {v1::SORT_OUTPUT_INDICES, v1::SORT_OUTPUT_KEYS_AND_INDICES}) {
    for (const int64_t limit : {int64_t{-1}, int64_t{17}, int64_t{90000}}) {
      SCOPED_TRACE(::testing::Message() << "output=" << output << " limit=" << limit);
      std::memset(object_.As<char>(kHalf), 0xEE, kHalf);
      v1::SortRequest request;
      *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, kCount, 0);
      request.set_output(output);
      if (limit >= 0) request.set_limit(limit);
      const size_t offset = limit == 90000 ? 12'345 : 0;
      request.set_offset(static_cast<int64_t>(offset));
      const size_t count = limit >= 0 ? std::min(static_cast<size_t>(limit), kCount - offset) : kCount;
      const std::vector<uint32_t> expected(order.begin() + offset, order.begin() + offset + count);
      *request.mutable_indices_destination() = ToRegion(kHalf);
      constexpr int64_t kKeysOut = kHalf + (int64_t{1} << 20);
      if (output == v1::SORT_OUTPUT_KEYS_AND_INDICES) *request.mutable_keys_destination() = ToRegion(kKeysOut);
      const v1::SortResponse response = Run(request);
      EXPECT_EQ(Read<uint32_t>(kHalf, count), expected);
      EXPECT_EQ(object_.As<uint32_t>(kHalf)[count], 0xEEEEEEEE) << "behind the last one";
      EXPECT_EQ(response.indices().count(), static_cast<int64_t>(count));
      EXPECT_EQ(response.has_keys(), output == v1::SORT_OUTPUT_KEYS_AND_INDICES);
      for (size_t i = 0; i < count && response.has_keys(); ++i) {
        ASSERT_EQ(object_.As<uint32_t>(kKeysOut)[i], before[expected[i]]) << i;
      }
      EXPECT_GT(response.stats().runs(), 1);
      EXPECT_EQ(response.stats().out_of_core(), GetParam() < 1600000);
      EXPECT_EQ(Read<uint32_t>(0, kCount), before) << "inputs stay as they are";
    }
  }
}

TEST_P(SharedPiecesTest, NoResultsOfALargeArrayTakeNoDeviceMemory) {
  constexpr int64_t kCount = 500'009;
  for (const auto& [limit, offset] : {std::pair<int64_t, int64_t>{0, 0}, {0, 5}, {-1, kCount}, {7, kCount + 9}}) {
    SCOPED_TRACE(::testing::Message() << "limit=" << limit << " offset=" << offset);
    v1::SortRequest request;
    *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, kCount, 0);
    *request.mutable_values() = InRegion(v1::ELEMENT_TYPE_UINT32, kCount, kHalf);
    *request.mutable_values_destination() = ToRegion(kHalf);
    if (limit >= 0) request.set_limit(limit);
    request.set_offset(offset);
    const v1::SortResponse response = Run(request);
    EXPECT_EQ(response.keys().count(), 0);
    EXPECT_EQ(response.values().count(), 0);
    EXPECT_EQ(response.stats().runs(), 0) << "nothing was sorted";
    EXPECT_FALSE(response.stats().out_of_core());
  }
}

// Results of up to 16 KiB are copied into the response. Others leave from pinned memory.
TEST_P(SharedPiecesTest, ResultsMayGoIntoTheResponse) {
  constexpr size_t kCount = 100003;
  const std::vector<uint32_t> before = MakeTies(kCount), order = StableOrderOf(before);
  for (const int64_t limit : {int64_t{10}, int64_t{4096}, int64_t{4097}, int64_t{-1}}) {
    SCOPED_TRACE(limit);
    v1::SortRequest request;
    *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, kCount, 0);
    request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
    if (limit >= 0) request.set_limit(limit);
    const v1::SortResponse response = Run(request);
    const size_t count = limit >= 0 ? static_cast<size_t>(limit) : kCount;
    ASSERT_EQ(response.keys().inline_data().size(), 4 * count);
    ASSERT_EQ(response.indices().inline_data().size(), 4 * count);
    std::vector<uint32_t> keys(count), indices(count);
    std::memcpy(keys.data(), response.keys().inline_data().data(), 4 * count);
    std::memcpy(indices.data(), response.indices().inline_data().data(), 4 * count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(keys[i], before[order[i]]) << i;
    EXPECT_EQ(indices, std::vector<uint32_t>(order.begin(), order.begin() + static_cast<ptrdiff_t>(count)));
    EXPECT_GT(response.stats().runs(), 1);
    EXPECT_EQ(response.stats().out_of_core(), GetParam() < 1600000);
  }
}

// Clients send small arrays in the message, independently of the others, and receive small results there.
TEST_P(SharedPiecesTest, SmallArraysOfASortMayTravelInMessages) {
  constexpr size_t kCount = 60000;
  std::string keys(kCount, 0);
  std::generate(keys.begin(), keys.end(), [this] { return static_cast<char>(random_() % 100); });
  uint64_t* const values = object_.As<uint64_t>();
  std::iota(values, values + kCount, 0);
  std::vector<std::pair<char, uint64_t>> expected(kCount);
  for (size_t i = 0; i < kCount; ++i) expected[i] = {keys[i], i};
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  v1::SortRequest request;
  request.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT8);
  request.mutable_keys()->set_inline_data(keys);
  *request.mutable_values() = InRegion(v1::ELEMENT_TYPE_UINT64, kCount, 0);
  *request.mutable_values_destination() = ToRegion(kHalf);
  const v1::SortResponse response = Run(request);
  ASSERT_EQ(response.keys().inline_data().size(), kCount);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(response.keys().inline_data()[i], expected[i].first) << i;
    ASSERT_EQ(object_.As<uint64_t>(kHalf)[i], expected[i].second) << i;
  }
  EXPECT_GT(response.stats().runs(), 1);
  EXPECT_EQ(response.stats().out_of_core(), GetParam() < 1080000);
}

TEST_P(SharedPiecesTest, IndicesMayTakeThePlaceOfTheKeys) {
  constexpr size_t kCount = 100003;
  const std::vector<uint32_t> order = StableOrderOf(MakeTies(kCount));
  v1::SortRequest request;
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, kCount, 0);
  request.set_output(v1::SORT_OUTPUT_INDICES);
  *request.mutable_indices_destination() = ToRegion(0);
  Run(request);
  EXPECT_EQ(Read<uint32_t>(0, kCount), order);
}

TEST_P(SharedPiecesTest, EveryBitOfAFloatComesBack) {
  constexpr size_t kCount = 50021;
  std::vector<double> keys(kCount);
  for (double& key : keys) {
    const double choices[] = {0.0, -0.0, std::nan("1"), -std::nan("2"), static_cast<double>(random_()) - 2e9};
    key = choices[random_() % 5];
  }
  std::memcpy(object_.As<void>(), keys.data(), kCount * sizeof(double));
  v1::SortRequest request;
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_FLOAT64, kCount, 0);
  *request.mutable_keys_destination() = ToRegion(kHalf);
  Run(request);
  std::stable_sort(keys.begin(), keys.end(),
                   [](double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; });
  std::vector<uint64_t> bits(kCount);
  std::memcpy(bits.data(), keys.data(), kCount * sizeof(double));
  EXPECT_EQ(Read<uint64_t>(kHalf, kCount), bits);
}

TEST_P(SharedPiecesTest, MergeIsStableAndTakesUnevenInputs) {
  const std::vector<size_t> counts = {70001, 0, 1, 30011};
  v1::MergeRequest request;
  std::vector<std::pair<int16_t, uint32_t>> expected;
  int64_t offset = 0;
  uint32_t next = 0;
  for (const size_t count : counts) {
    std::vector<int16_t> keys(count);
    std::generate(keys.begin(), keys.end(), [this] { return static_cast<int16_t>(random_() % 500); });
    std::sort(keys.begin(), keys.end());
    std::copy(keys.begin(), keys.end(), object_.As<int16_t>(offset));
    uint32_t* const values = object_.As<uint32_t>(int64_t{1} << 20) + next;
    *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT16, static_cast<int64_t>(count), offset);
    *request.add_values() =
        InRegion(v1::ELEMENT_TYPE_UINT32, static_cast<int64_t>(count), (int64_t{1} << 20) + int64_t{next} * 4);
    for (size_t i = 0; i < count; ++i) {
      values[i] = next;
      expected.emplace_back(keys[i], next++);
    }
    offset += static_cast<int64_t>(count * sizeof(int16_t));
  }
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  *request.mutable_keys_destination() = ToRegion(kHalf);
  *request.mutable_values_destination() = ToRegion(kHalf + (int64_t{1} << 20));
  const v1::MergeResponse response = Run(request);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(object_.As<int16_t>(kHalf)[i], expected[i].first) << i;
    ASSERT_EQ(object_.As<uint32_t>(kHalf + (int64_t{1} << 20))[i], expected[i].second) << i;
  }
  EXPECT_EQ(response.keys().count(), static_cast<int64_t>(expected.size()));
  EXPECT_EQ(response.algorithm(), v1::MERGE_ALGORITHM_MERGE_PATH);
  EXPECT_EQ(response.stats().runs(), 0) << "nothing was sorted";
  EXPECT_EQ(response.stats().out_of_core(), GetParam() < 1200000);
}

TEST_P(SharedPiecesTest, SmallArraysOfAMergeMayTravelInMessages) {
  // For each input: its number of keys, and whether they are in the message. Values are if there are few of them.
  const std::vector<std::pair<size_t, bool>> inputs = {
      {0, true}, {100, true}, {70001, false}, {3, false}, {5000, true}};
  for (const bool have_values : {false, true}) {
    SCOPED_TRACE(have_values);
    v1::MergeRequest request;
    std::vector<std::pair<uint32_t, uint64_t>> expected;
    for (const auto& [count, in_message] : inputs) {
      const auto first = static_cast<int64_t>(expected.size());
      std::vector<uint32_t> keys(count);
      std::generate(keys.begin(), keys.end(), [this] { return random_() % 5000; });
      std::sort(keys.begin(), keys.end());
      if (in_message) {
        request.add_keys()->set_type(v1::ELEMENT_TYPE_UINT32);
        request.mutable_keys()->rbegin()->set_inline_data(keys.data(), 4 * count);
      } else {
        std::copy(keys.begin(), keys.end(), object_.As<uint32_t>() + first);
        *request.add_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, static_cast<int64_t>(count), 4 * first);
      }
      constexpr int64_t kValues = int64_t{1} << 20;
      uint64_t* const values = object_.As<uint64_t>(kValues) + first;
      for (const uint32_t key : keys) {
        values[expected.size() - static_cast<size_t>(first)] = expected.size();
        expected.emplace_back(key, expected.size());
      }
      if (!have_values) continue;
      if (count < 1000) {
        request.add_values()->set_type(v1::ELEMENT_TYPE_UINT64);
        request.mutable_values()->rbegin()->set_inline_data(values, 8 * count);
      } else {
        *request.add_values() = InRegion(v1::ELEMENT_TYPE_UINT64, static_cast<int64_t>(count), kValues + 8 * first);
      }
    }
    std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    // With values, the keys return in the message.
    (have_values ? *request.mutable_values_destination() : *request.mutable_keys_destination()) = ToRegion(kHalf);
    const v1::MergeResponse response = Run(request);
    EXPECT_EQ(response.stats().out_of_core(), GetParam() < (have_values ? 1800000 : 600000));
    std::vector<uint32_t> merged(expected.size());
    if (have_values) {
      ASSERT_EQ(response.keys().inline_data().size(), 4 * expected.size());
      std::memcpy(merged.data(), response.keys().inline_data().data(), 4 * expected.size());
    } else {
      merged = Read<uint32_t>(kHalf, expected.size());
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(merged[i], expected[i].first) << i;
      if (have_values) {
        ASSERT_EQ(object_.As<uint64_t>(kHalf)[i], expected[i].second) << i;
      }
    }
  }
}

TEST_P(SharedPiecesTest, OutOfCoreIsWhatHasMoreBytesThanHalfOfTheDeviceMemory) {
  const int64_t most = std::min(GetParam() / 2, kHalf) / 8;  // rows of a key and a value
  for (const int64_t rows : {most, most + 1}) {
    SCOPED_TRACE(rows);
    if (8 * rows > kHalf) continue;  // the region has no room for more than the device
    const bool is_out = 8 * rows > GetParam() / 2;
    std::fill_n(object_.As<uint32_t>(), 2 * rows, 7);
    v1::SortRequest sort;
    *sort.mutable_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, rows, 0);
    *sort.mutable_values() = InRegion(v1::ELEMENT_TYPE_UINT32, rows, 4 * rows);
    *sort.mutable_keys_destination() = ToRegion(kHalf);
    *sort.mutable_values_destination() = ToRegion(kHalf + 4 * rows);
    EXPECT_EQ(Run(sort).stats().out_of_core(), is_out);
    v1::SortRequest argsort;  // indices count like values
    *argsort.mutable_keys() = sort.keys();
    argsort.set_output(v1::SORT_OUTPUT_INDICES);
    *argsort.mutable_indices_destination() = ToRegion(kHalf);
    EXPECT_EQ(Run(argsort).stats().out_of_core(), is_out);
    v1::MergeRequest merge;
    for (const int64_t first : {int64_t{0}, rows / 2}) {
      const int64_t count = first == 0 ? rows / 2 : rows - first;
      *merge.add_keys() = InRegion(v1::ELEMENT_TYPE_UINT32, count, 4 * first);
      *merge.add_values() = InRegion(v1::ELEMENT_TYPE_UINT32, count, 4 * (rows + first));
    }
    *merge.mutable_keys_destination() = sort.keys_destination();
    *merge.mutable_values_destination() = sort.values_destination();
    EXPECT_EQ(Run(merge).stats().out_of_core(), is_out);
  }
}

TEST_P(SharedPiecesTest, UnsortedInputsAreNamedWhereverTheyAre) {
  constexpr int64_t kCount = 60000;
  int32_t* const keys = object_.As<int32_t>();
  v1::MergeRequest request;
  *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, kCount, 0);
  *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, kCount, kCount * 4);
  *request.mutable_keys_destination() = ToRegion(kHalf);
  for (const int64_t wrong : {int64_t{1}, int64_t{29999}, int64_t{30000}, kCount - 1, kCount + 7}) {
    for (int64_t i = 0; i < 2 * kCount; ++i) keys[i] = static_cast<int32_t>(i % kCount);
    keys[wrong] = -5;
    grpc::ClientContext context;
    v1::MergeResponse response;
    const grpc::Status status = Call(server_.stub(), &context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(BadField(status), wrong < kCount ? "keys[0]" : "keys[1]");
    EXPECT_THAT(status.error_message(), HasSubstr(absl::StrCat("index ", wrong % kCount, " ")));
  }
  // A permutation of the inputs, if the caller wants no check.
  request.set_assume_sorted(true);
  Run(request);
  std::vector<int32_t> expected = Read<int32_t>(0, 2 * kCount), merged = Read<int32_t>(kHalf, 2 * kCount);
  std::sort(expected.begin(), expected.end());
  std::sort(merged.begin(), merged.end());
  EXPECT_EQ(merged, expected);
}

TEST_P(SharedPiecesTest, AMergeOntoItsOwnInputsIsRight) {
  constexpr int64_t kCount = 60000;
  int32_t* const keys = object_.As<int32_t>();
  for (int64_t i = 0; i < kCount; ++i) keys[i] = keys[kCount + i] = static_cast<int32_t>(3 * i);
  v1::MergeRequest request;
  *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, kCount, 0);
  *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, kCount, kCount * 4);
  *request.mutable_keys_destination() = ToRegion(0);
  Run(request);
  for (int64_t i = 0; i < 2 * kCount; ++i) ASSERT_EQ(keys[i], 3 * (i / 2)) << i;
}

TEST_P(SharedPiecesTest, AMergeOntoItsInputsThroughAnotherRegionIsRight) {
  constexpr int64_t kCount = 60000;
  int32_t* const keys = object_.As<int32_t>();
  const int64_t page = sysconf(_SC_PAGESIZE);
  ASSERT_TRUE(memory_.Register(object_, "same").ok());
  ASSERT_TRUE(memory_.Register(object_, "behind", page).ok());
  for (const bool is_behind : {false, true}) {
    SCOPED_TRACE(is_behind);
    for (int64_t i = 0; i < 2 * kCount; ++i) keys[i] = static_cast<int32_t>(3 * (i % kCount));
    v1::MergeRequest request;
    *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, kCount, 0);
    *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, kCount, kCount * 4);
    *request.mutable_keys_destination() = ToRegion(0);
    request.mutable_keys_destination()->mutable_shared_memory()->set_region(is_behind ? "behind" : "same");
    Run(request);
    const int32_t* const merged = object_.As<int32_t>(is_behind ? page : 0);
    for (int64_t i = 0; i < 2 * kCount; ++i) ASSERT_EQ(merged[i], 3 * (i / 2)) << i;
  }
}

}  // namespace
}  // namespace corank::testing
