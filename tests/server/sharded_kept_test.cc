// Sharded kept arrays, and sorts of them. The devices are CPU engines that tests hold and lose, so that nothing depends
// on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <numeric>
#include <string>
#include <vector>

#include "tests/server/sharded_kept_fixture.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

// Sorts `name` into `result`.
v1::SortRequest SortOf(const std::string& name, const std::string& result) {
  v1::SortRequest request;
  *request.mutable_keys() = Kept(name);
  *request.mutable_keys_destination() = KeptAs(result, /*sharded=*/true);
  return request;
}

TEST_F(ShardedKeptTest, AnArrayThatFitsNoDeviceFitsAllTogether) {
  Start();
  const std::vector<int32_t> keys = Keys(25'000);
  const grpc::Status whole = Store("whole", keys, /*sharded=*/false);
  EXPECT_EQ(whole.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(whole.error_message(), HasSubstr("store it sharded"));
  v1::StoredArray stored;
  ASSERT_TRUE(Store("keys", Int32s(keys), true, &stored).ok());
  EXPECT_EQ(stored.shards(), 3U);
  EXPECT_EQ(stored.count(), 25'000);
  EXPECT_TRUE(Fetched("keys") == keys);
  EXPECT_EQ(arrays().used_bytes(0), 8334 * 4);
  EXPECT_EQ(arrays().used_bytes(1), 8333 * 4);
  EXPECT_EQ(arrays().used_bytes(2), 8333 * 4);
  const v1::ListArraysResponse list = memory_->List();
  ASSERT_EQ(list.arrays_size(), 1);
  EXPECT_EQ(list.arrays(0).shards(), 3U);
  EXPECT_EQ(list.used_bytes(), 100'000);
  const grpc::Status full = Store("more", keys);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << full.error_message();
  EXPECT_EQ(arrays().used_bytes(), 100'000) << "what it had reserved";
  EXPECT_EQ(Store("more", Keys(30'001)).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(memory_->Delete("keys").ok());
  EXPECT_EQ(arrays().used_bytes(), 0);
}

TEST_F(ShardedKeptTest, EveryLengthComesBackAsItWasStored) {
  for (const int devices : {1, 2, 3}) {
    devices_.clear();
    Start(devices, 0, kPlenty);
    for (const int64_t count : {0, 1, 2, 3, 4, 5, 997, 998, 9'000}) {
      v1::StoredArray stored;
      ASSERT_TRUE(Store("ints", Int32s(Keys(count)), true, &stored).ok()) << count;
      EXPECT_EQ(stored.shards(), static_cast<uint32_t>(devices));
      EXPECT_TRUE(Fetched("ints") == Keys(count)) << devices << ", " << count;
      std::string records(static_cast<size_t>(count * 3), ' ');
      for (size_t i = 0; i < records.size(); ++i) records[i] = static_cast<char>(i * 7);
      ASSERT_TRUE(Store("records", Records(3, records)).ok());
      std::string fetched;
      ASSERT_TRUE(memory_->Fetch("records", &fetched).ok());
      EXPECT_TRUE(fetched == records) << devices << ", " << count;
    }
    EXPECT_TRUE(memory_->Delete("ints").ok());
    EXPECT_TRUE(memory_->Delete("records").ok());
    EXPECT_EQ(arrays().used_bytes(), 0);
  }
}

TEST_F(ShardedKeptTest, DevicesPerRequestLimitTheParts) {
  for (const int most : {1, 2}) {
    devices_.clear();
    Start(3, most);
    v1::StoredArray stored;
    ASSERT_TRUE(Store("keys", Int32s(Keys(5000)), true, &stored).ok());
    EXPECT_EQ(stored.shards(), static_cast<uint32_t>(most));
    EXPECT_EQ(Store("too many", Keys(10'001 * most)).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    std::vector<int32_t> sorted = Keys(5000);
    std::sort(sorted.begin(), sorted.end());
    ASSERT_TRUE(Sort(SortOf("keys", "keys")).ok());
    EXPECT_TRUE(Fetched("keys") == sorted);
  }
}

// By the number of devices.
class SortsSharded : public ShardedKeptTest, public ::testing::WithParamInterface<int> {};

TEST_P(SortsSharded, AsTheStableSortOfTheWhole) {
  Start(GetParam(), 0, kPlenty);
  for (const int64_t count : {0, 1, 2, 4, 1000, 4001}) {
    for (const uint32_t distinct : {1U, 7U, 1U << 30}) {
      const std::vector<int32_t> keys = Keys(count, distinct), values = Keys(count);
      ASSERT_TRUE(Store("keys", keys).ok());
      ASSERT_TRUE(Store("values", values).ok());
      for (const bool down : {false, true}) {
        std::vector<uint32_t> order(keys.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return down ? keys[a] > keys[b] : keys[a] < keys[b]; });
        for (const int64_t limit : {int64_t{-1}, int64_t{0}, int64_t{1}, count / 2, count + 1}) {
          // By other limits in each direction, a part from the middle.
          const int64_t offset = (limit % 2 == 0) == down ? std::min(count, count / 3 + 1) : 0;
          const size_t left = order.size() - static_cast<size_t>(offset);
          const size_t rows = limit < 0 ? left : std::min(left, static_cast<size_t>(limit));
          const auto begin = order.begin() + offset;
          const std::vector<uint32_t> first(begin, begin + static_cast<int64_t>(rows));
          std::vector<int32_t> first_keys, first_values;
          for (const uint32_t row : first) {
            first_keys.push_back(keys[row]);
            first_values.push_back(values[row]);
          }
          v1::SortRequest request = SortOf("keys", "sorted");
          if (down) request.set_order(v1::SORT_ORDER_DESCENDING);
          if (limit >= 0) request.set_limit(limit);
          request.set_offset(offset);
          v1::SortResponse response;
          grpc::Status status = Sort(request, &response);
          ASSERT_TRUE(status.ok()) << status.error_message();
          EXPECT_TRUE(response.keys().stored().sharded());
          EXPECT_EQ(response.keys().count(), static_cast<int64_t>(rows));
          EXPECT_EQ(response.stats().devices(), GetParam());
          EXPECT_TRUE(Fetched("sorted") == first_keys) << count << ", " << distinct << ", " << limit;
          *request.mutable_values() = Kept("values");
          *request.mutable_values_destination() = KeptAs("sorted-values", /*sharded=*/true);
          status = Sort(request);
          ASSERT_TRUE(status.ok()) << status.error_message();
          EXPECT_TRUE(Fetched("sorted") == first_keys) << count << ", " << distinct << ", " << limit;
          EXPECT_TRUE(Fetched("sorted-values") == first_values) << count << ", " << distinct << ", " << limit;
          request.clear_values();
          request.clear_values_destination();
          request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
          *request.mutable_indices_destination() = KeptAs("indices", /*sharded=*/true);
          status = Sort(request);
          ASSERT_TRUE(status.ok()) << status.error_message();
          EXPECT_TRUE(Fetched("sorted") == first_keys) << count << ", " << distinct << ", " << limit;
          EXPECT_TRUE(Fetched<uint32_t>("indices") == first) << count << ", " << distinct << ", " << limit;
        }
      }
    }
  }
  EXPECT_EQ(Shared("sort") > 0, GetParam() > 1);
}

TEST_P(SortsSharded, FromAndIntoTheMessage) {
  Start(GetParam(), 0, kPlenty);
  const std::vector<int32_t> keys = Keys(4001, 50), values = Keys(4001);
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  std::vector<int32_t> sorted, moved;
  for (const uint32_t row : order) {
    sorted.push_back(keys[row]);
    moved.push_back(values[row]);
  }
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(keys);
  *request.mutable_keys_destination() = KeptAs("sorted", /*sharded=*/true);
  *request.mutable_values() = Int32s(values);
  v1::SortResponse response;
  ASSERT_TRUE(Sort(request, &response).ok());
  EXPECT_TRUE(Elements<int32_t>(response.values()) == moved) << "the values into the message";
  EXPECT_TRUE(Fetched("sorted") == sorted);
  EXPECT_EQ(memory_->List().arrays(0).shards(), static_cast<uint32_t>(GetParam()));
  ASSERT_TRUE(Store("keys", keys).ok());
  *request.mutable_keys() = Kept("keys");
  request.clear_keys_destination();
  *request.mutable_values_destination() = KeptAs("moved", /*sharded=*/true);
  ASSERT_TRUE(Sort(request, &response).ok());
  EXPECT_TRUE(Elements<int32_t>(response.keys()) == sorted);
  EXPECT_TRUE(Fetched("moved") == moved) << "the values from the message";
  request.clear_values();
  request.clear_values_destination();
  request.set_output(v1::SORT_OUTPUT_INDICES);
  ASSERT_TRUE(Sort(request, &response).ok());
  EXPECT_TRUE(Elements<uint32_t>(response.indices()) == order);
  EXPECT_TRUE(Fetched("keys") == keys) << "an input stays as it is";
}

TEST_P(SortsSharded, InPlaceOfTheArrayItself) {
  Start(GetParam(), 0, kPlenty);
  std::vector<int32_t> keys = Keys(4001);
  ASSERT_TRUE(Store("keys", keys).ok());
  ASSERT_TRUE(Sort(SortOf("keys", "keys")).ok());
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(Fetched("keys") == keys);
  EXPECT_EQ(memory_->List().arrays_size(), 1);
  EXPECT_TRUE(memory_->Delete("keys").ok()) << "the lane let go of it before it answered";
  EXPECT_EQ(arrays().used_bytes(), 0);
}

TEST_P(SortsSharded, ByColumns) {
  Start(GetParam(), 0, kPlenty);
  for (const int64_t count : {0, 1, 2, 9, 1000, 4001}) {
    const std::vector<int32_t> first = Keys(count, 7), second = Keys(count, 50);
    ASSERT_TRUE(Store("first", first).ok());
    std::vector<uint32_t> order(first.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return first[a] != first[b] ? first[a] > first[b] : second[a] < second[b];
    });
    v1::SortRequest request;
    v1::KeyColumn& column = *request.add_key_columns();
    *column.mutable_data() = Kept("first");
    column.set_order(v1::SORT_ORDER_DESCENDING);
    *request.add_key_columns()->mutable_data() = Int32s(second);
    for (const int64_t limit : {int64_t{-1}, int64_t{0}, count / 3 + 1}) {
      request.clear_limit();
      if (limit >= 0) request.set_limit(limit);
      const auto rows = static_cast<size_t>(limit < 0 ? count : std::min(limit, count));
      request.set_output(v1::SORT_OUTPUT_INDICES);
      request.clear_indices_destination();
      request.mutable_key_columns(0)->clear_data_destination();
      v1::SortResponse response;
      grpc::Status status = Sort(request, &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.stats().devices(), GetParam());
      const std::vector<uint32_t> expected(order.begin(), order.begin() + static_cast<int64_t>(rows));
      EXPECT_TRUE(Elements<uint32_t>(response.indices()) == expected) << count << ", " << limit;
      request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
      *request.mutable_key_columns(0)->mutable_data_destination() = KeptAs("sorted", /*sharded=*/true);
      *request.mutable_indices_destination() = KeptAs("indices", /*sharded=*/true);
      status = Sort(request, &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
      EXPECT_TRUE(response.key_columns(0).data().stored().sharded());
      EXPECT_TRUE(Fetched<uint32_t>("indices") == expected) << count << ", " << limit;
      std::vector<int32_t> sorted, sorted_second;
      for (const uint32_t row : expected) {
        sorted.push_back(first[row]);
        sorted_second.push_back(second[row]);
      }
      EXPECT_TRUE(Fetched("sorted") == sorted) << count << ", " << limit;
      EXPECT_TRUE(Elements<int32_t>(response.key_columns(1).data()) == sorted_second) << count << ", " << limit;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SortsSharded, ::testing::Values(1, 2, 3));

TEST_F(ShardedKeptTest, SortsAllThatTheDevicesHoldTogether) {
  Start();
  std::vector<int32_t> keys = Keys(14'000);  // 56,000 bytes, more than a device's 40,000, and again as many sorted
  ASSERT_TRUE(Store("keys", keys).ok());
  ASSERT_TRUE(Sort(SortOf("keys", "sorted")).ok());
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(Fetched("sorted") == keys);
  const grpc::Status full = Sort(SortOf("keys", "again"));
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << full.error_message();
  EXPECT_TRUE(memory_->Delete("keys").ok());
  EXPECT_TRUE(memory_->Delete("sorted").ok());
  EXPECT_EQ(arrays().used_bytes(), 0);
}

TEST_F(ShardedKeptTest, IsInUseWhileASortRuns) {
  Start();
  ASSERT_TRUE(Store("keys", Keys(5000)).ok());
  const int64_t of_keys = arrays().used_bytes();
  device(2).Hold();
  std::future<grpc::Status> sort = SortLater(SortOf("keys", "sorted"));
  EXPECT_TRUE(Eventually([this] { return device(2).held() == 1; }));
  EXPECT_EQ(memory_->Delete("keys").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(memory_->Delete("sorted").error_code(), grpc::StatusCode::NOT_FOUND) << "not yet";
  EXPECT_EQ(arrays().used_bytes(), 2 * of_keys) << "the result's memory is taken";
  device(2).Release();
  EXPECT_TRUE(sort.get().ok());
  EXPECT_TRUE(memory_->Delete("keys").ok());
  EXPECT_TRUE(memory_->Delete("sorted").ok());
  EXPECT_EQ(arrays().used_bytes(), 0);
}

TEST_F(ShardedKeptTest, ACancelledSortKeepsNothing) {
  Start();
  ASSERT_TRUE(Store("keys", Keys(5000)).ok());
  const int64_t of_keys = arrays().used_bytes();
  device(1).Hold();
  grpc::ClientContext context;
  std::future<grpc::Status> sort = std::async(std::launch::async, [&] {
    v1::SortResponse response;
    return running_->stub().Sort(&context, SortOf("keys", "sorted"), &response);
  });
  EXPECT_TRUE(Eventually([this] { return device(1).held() == 1; }));
  context.TryCancel();
  EXPECT_EQ(sort.get().error_code(), grpc::StatusCode::CANCELLED);
  AwaitCancel();
  device(1).Release();
  EXPECT_TRUE(Eventually([&] { return arrays().used_bytes() == of_keys; }));
  EXPECT_EQ(memory_->List().arrays_size(), 1);
  EXPECT_TRUE(Eventually([&] { return memory_->Delete("keys").ok(); })) << "nothing uses it any more";
  EXPECT_EQ(arrays().used_bytes(), 0);
}

TEST_F(ShardedKeptTest, GoesWithAnyOfItsDevicesAndTheOthersServeOn) {
  Start();
  ASSERT_TRUE(Store("keys", Keys(5000)).ok());
  device(1).Hold();
  std::future<grpc::Status> sort = SortLater(SortOf("keys", "sorted"));
  EXPECT_TRUE(Eventually([this] { return device(1).held() == 1; }));
  device(1).Lose();
  device(1).Release();
  const grpc::Status status = sort.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  std::string bytes;
  EXPECT_TRUE(Eventually([&] { return memory_->Fetch("keys", &bytes).error_code() == grpc::StatusCode::NOT_FOUND; }));
  EXPECT_TRUE(Eventually([this] { return arrays().used_bytes() == 0; })) << "on the others too";
  EXPECT_EQ(memory_->List().arrays_size(), 0);
  v1::StoredArray stored;
  std::vector<int32_t> keys = Keys(5000);
  ASSERT_TRUE(Store("keys", Int32s(keys), true, &stored).ok());
  EXPECT_EQ(stored.shards(), 2U) << "those that are left";
  EXPECT_EQ(arrays().used_bytes(1), 0);
  ASSERT_TRUE(Sort(SortOf("keys", "keys")).ok());
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(Fetched("keys") == keys);
  EXPECT_FALSE(running_->server().device_lost());
}

TEST_F(ShardedKeptTest, AnUploadThatEndsEarlyKeepsNothing) {
  Start();
  grpc::ClientContext context;
  v1::StoreArrayResponse response;
  const auto writer = memory_->stub().StoreArray(&context, &response);
  v1::StoreArrayRequest request;
  request.mutable_header()->set_name("keys");
  request.mutable_header()->set_sharded(true);
  *request.mutable_header()->mutable_array() = Streamed(v1::ELEMENT_TYPE_INT32, 25'000, 0);
  writer->Write(request);
  EXPECT_TRUE(Eventually([this] { return arrays().used_bytes() == 100'000; }));
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([this] { return arrays().used_bytes() == 0; }));
}

}  // namespace
}  // namespace corank::testing
