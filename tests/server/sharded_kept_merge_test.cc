// Merges of sharded kept arrays. The devices are CPU engines that tests hold and lose, so that nothing depends on
// speed.
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

using Arrays = std::vector<std::vector<int32_t>>;

Arrays SortedArrays(const std::vector<int64_t>& counts, uint32_t distinct = 1 << 30, bool down = false) {
  Arrays arrays;
  for (const int64_t count : counts) {
    std::vector<int32_t>& keys = arrays.emplace_back(Keys(count, distinct));
    std::sort(keys.begin(), keys.end());
    if (down) std::reverse(keys.begin(), keys.end());
  }
  return arrays;
}

std::string NameOf(size_t array) { return "array-" + std::to_string(array); }

class ShardedKeptMergeTest : public ShardedKeptTest {
 protected:
  int64_t used_bytes() const { return arrays().used_bytes(); }
  void StoreAll(const Arrays& arrays) {
    for (size_t i = 0; i < arrays.size(); ++i) ASSERT_TRUE(Store(NameOf(i), arrays[i]).ok());
  }
  // Of the arrays that StoreAll has stored, into "merged".
  static v1::MergeRequest RequestOf(const Arrays& arrays) {
    v1::MergeRequest request;
    for (size_t i = 0; i < arrays.size(); ++i) *request.add_keys() = Kept(NameOf(i));
    *request.mutable_keys_destination() = KeptAs("merged", /*sharded=*/true);
    return request;
  }
  grpc::Status Merge(const v1::MergeRequest& request, v1::MergeResponse* response = nullptr) {
    grpc::ClientContext context;
    v1::MergeResponse ignored;
    return running_->stub().Merge(&context, request, response == nullptr ? &ignored : response);
  }
  std::future<grpc::Status> MergeLater(const v1::MergeRequest& request) {
    return std::async(std::launch::async, [this, request] { return Merge(request); });
  }
};

// Positions in the concatenation of all arrays, in the order of their stable merge, and the keys there.
struct Expected {
  Expected(const Arrays& arrays, bool down) {
    std::vector<int32_t> all;
    for (const std::vector<int32_t>& array : arrays) all.insert(all.end(), array.begin(), array.end());
    positions.resize(all.size());
    std::iota(positions.begin(), positions.end(), 0);
    const auto key = [&all](int32_t at) { return all[static_cast<size_t>(at)]; };
    std::stable_sort(positions.begin(), positions.end(),
                     [&](int32_t a, int32_t b) { return down ? key(a) > key(b) : key(a) < key(b); });
    for (const int32_t at : positions) keys.push_back(key(at));
  }
  std::vector<int32_t> positions, keys;
};

// For each array, its elements' positions in the concatenation of all.
Arrays PositionsOf(const Arrays& arrays) {
  Arrays positions;
  int32_t first = 0;
  for (const std::vector<int32_t>& array : arrays) {
    std::vector<int32_t>& of_array = positions.emplace_back(array.size());
    std::iota(of_array.begin(), of_array.end(), first);
    first += static_cast<int32_t>(array.size());
  }
  return positions;
}

// By the number of devices.
class MergesSharded : public ShardedKeptMergeTest, public ::testing::WithParamInterface<int> {};

TEST_P(MergesSharded, AsTheStableMergeOfTheWhole) {
  Start(GetParam(), 0, kPlenty);
  const std::vector<std::vector<int64_t>> shapes = {{5000, 4001}, {0, 9000}, {1, 0, 8000, 2}, {0, 0}, {1, 1, 1}};
  for (const std::vector<int64_t>& counts : shapes) {
    for (const uint32_t distinct : {1U, 7U, 1U << 30}) {
      for (const bool down : {false, true}) {
        const Arrays arrays = SortedArrays(counts, distinct, down);
        const Expected expected(arrays, down);
        StoreAll(arrays);
        v1::MergeRequest request = RequestOf(arrays);
        if (down) request.set_order(v1::SORT_ORDER_DESCENDING);
        v1::MergeResponse response;
        grpc::Status status = Merge(request, &response);
        ASSERT_TRUE(status.ok()) << status.error_message();
        EXPECT_TRUE(response.keys().stored().sharded());
        EXPECT_EQ(response.keys().count(), static_cast<int64_t>(expected.keys.size()));
        EXPECT_EQ(response.stats().devices(), GetParam());
        EXPECT_NE(response.algorithm(), v1::MERGE_ALGORITHM_UNSPECIFIED);
        EXPECT_TRUE(Fetched("merged") == expected.keys) << counts.size() << ", " << distinct;
        const Arrays positions = PositionsOf(arrays);
        for (size_t i = 0; i < positions.size(); ++i) {
          ASSERT_TRUE(Store("values-" + std::to_string(i), positions[i]).ok());
          *request.add_values() = Kept("values-" + std::to_string(i));
        }
        *request.mutable_values_destination() = KeptAs("merged-values", /*sharded=*/true);
        status = Merge(request, &response);
        ASSERT_TRUE(status.ok()) << status.error_message();
        EXPECT_TRUE(response.values().stored().sharded());
        EXPECT_TRUE(Fetched("merged") == expected.keys) << counts.size() << ", " << distinct;
        EXPECT_TRUE(Fetched("merged-values") == expected.positions) << counts.size() << ", " << distinct;
      }
    }
  }
  EXPECT_EQ(Shared("merge") > 0, GetParam() > 1);
}

TEST_P(MergesSharded, FromAndIntoTheMessage) {
  Start(GetParam(), 0, kPlenty);
  const Arrays arrays = SortedArrays({4001, 3000, 2}, 50), positions = PositionsOf(arrays);
  const Expected expected(arrays, /*down=*/false);
  StoreAll(arrays);
  v1::MergeRequest request = RequestOf(arrays);
  *request.mutable_keys(1) = Int32s(arrays[1]);
  for (const std::vector<int32_t>& values : positions) *request.add_values() = Int32s(values);
  v1::MergeResponse response;
  ASSERT_TRUE(Merge(request, &response).ok());
  EXPECT_TRUE(Fetched("merged") == expected.keys);
  EXPECT_TRUE(Elements<int32_t>(response.values()) == expected.positions) << "the values into the message";
  request.clear_keys_destination();
  *request.mutable_values_destination() = KeptAs("merged-values", /*sharded=*/true);
  ASSERT_TRUE(Merge(request, &response).ok());
  EXPECT_TRUE(Elements<int32_t>(response.keys()) == expected.keys);
  EXPECT_TRUE(Fetched("merged-values") == expected.positions) << "the values from the message";
  for (size_t i = 0; i < arrays.size(); ++i) *request.mutable_keys(static_cast<int>(i)) = Int32s(arrays[i]);
  ASSERT_TRUE(Merge(request, &response).ok());
  EXPECT_TRUE(Elements<int32_t>(response.keys()) == expected.keys);
  EXPECT_TRUE(Fetched("merged-values") == expected.positions) << "only the result is sharded";
  EXPECT_EQ(response.stats().devices(), GetParam());
  request.clear_values_destination();
  request.clear_values();
  for (size_t i = 0; i < arrays.size(); ++i) *request.mutable_keys(static_cast<int>(i)) = Kept(NameOf(i));
  ASSERT_TRUE(Merge(request, &response).ok());
  EXPECT_TRUE(Elements<int32_t>(response.keys()) == expected.keys) << "only the arrays are sharded";
  EXPECT_TRUE(Fetched(NameOf(0)) == arrays[0]) << "an input stays as it is";
}

TEST_P(MergesSharded, WithSharedMemoryEvenWhereTheResultLiesOnAnInput) {
  Start(GetParam(), 0, kPlenty);
  constexpr int64_t kBytes = 1 << 16;
  SharedObject object(kBytes);
  ASSERT_TRUE(memory_->Register(object).ok());
  const Arrays arrays = SortedArrays({3000, 2000}, 100);
  StoreAll(arrays);
  std::copy(arrays[1].begin(), arrays[1].end(), object.As<int32_t>());
  v1::MergeRequest request = RequestOf(arrays);
  *request.mutable_keys(1) = InRegion(v1::ELEMENT_TYPE_INT32, 2000, 0);
  *request.mutable_keys_destination() = ToRegion(0);
  const grpc::Status status = Merge(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const std::vector<int32_t> expected = Expected(arrays, /*down=*/false).keys;
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), object.As<int32_t>()));
}

TEST_P(MergesSharded, InPlaceOfOneOfTheArrays) {
  Start(GetParam(), 0, kPlenty);
  const Arrays arrays = SortedArrays({4001, 500}, 60);
  StoreAll(arrays);
  v1::MergeRequest request = RequestOf(arrays);
  *request.mutable_keys_destination() = KeptAs(NameOf(1), /*sharded=*/true);
  ASSERT_TRUE(Merge(request).ok());
  EXPECT_TRUE(Fetched(NameOf(1)) == Expected(arrays, /*down=*/false).keys);
  EXPECT_EQ(memory_->List().arrays_size(), 2);
  EXPECT_TRUE(memory_->Delete(NameOf(0)).ok()) << "the lane let go of it before it answered";
  EXPECT_TRUE(memory_->Delete(NameOf(1)).ok());
  EXPECT_EQ(used_bytes(), 0);
}

TEST_P(MergesSharded, NamesTheElementThatIsOutOfOrderAsForWholeArrays) {
  Start(GetParam(), 0, kPlenty);
  const Arrays sorted = SortedArrays({100, 151, 7});
  for (size_t i = 1; i < 151; ++i) {
    Arrays arrays = sorted;
    std::swap(arrays[1][i], arrays[1][i - 1]);
    if (i % 2 == 0) std::swap(arrays[2][1], arrays[2][5]);
    if (i % 3 == 0) std::swap(arrays[1][140], arrays[1][145]);
    StoreAll(arrays);
    v1::MergeRequest request = RequestOf(arrays), whole;
    for (const std::vector<int32_t>& array : arrays) *whole.add_keys() = Int32s(array);
    const grpc::Status status = Merge(request), expected = Merge(whole);
    ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
    EXPECT_EQ(status.error_message(), expected.error_message());
    EXPECT_THAT(status.error_message(), HasSubstr("keys[1]"));
  }
  EXPECT_EQ(memory_->List().arrays_size(), 3) << "no result is kept";
}

TEST_P(MergesSharded, PermutesUncheckedArrays) {
  Start(GetParam(), 0, kPlenty);
  const Arrays arrays = {Keys(2500), Keys(6000)};
  StoreAll(arrays);
  v1::MergeRequest request = RequestOf(arrays);
  EXPECT_EQ(Merge(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_assume_sorted(true);
  ASSERT_TRUE(Merge(request).ok());
  std::vector<int32_t> all = arrays[0];
  all.insert(all.end(), arrays[1].begin(), arrays[1].end());
  const std::vector<int32_t> merged = Fetched("merged");
  EXPECT_TRUE(std::is_permutation(merged.begin(), merged.end(), all.begin(), all.end()));
}

INSTANTIATE_TEST_SUITE_P(Devices, MergesSharded, ::testing::Values(1, 2, 3));

TEST_F(ShardedKeptMergeTest, MergesAllThatTheDevicesHoldTogether) {
  Start();
  const Arrays arrays =
      SortedArrays({8000, 6000});  // 56,000 bytes, more than a device's 40,000, and again as many merged
  StoreAll(arrays);
  ASSERT_TRUE(Merge(RequestOf(arrays)).ok());
  EXPECT_TRUE(Fetched("merged") == Expected(arrays, /*down=*/false).keys);
  v1::MergeRequest again = RequestOf(arrays);
  *again.mutable_keys_destination() = KeptAs("again", /*sharded=*/true);
  const grpc::Status full = Merge(again);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << full.error_message();
  for (const std::string& name : {NameOf(0), NameOf(1), std::string("merged")}) EXPECT_TRUE(memory_->Delete(name).ok());
  EXPECT_EQ(used_bytes(), 0);
}

TEST_F(ShardedKeptMergeTest, TakesAsManyPartsAsOneMergeCanCut) {
  Start(3, 0, kPlenty);
  Arrays arrays = SortedArrays(std::vector<int64_t>(10, 301), 40);
  StoreAll(arrays);
  ASSERT_TRUE(Merge(RequestOf(arrays)).ok());
  EXPECT_TRUE(Fetched("merged") == Expected(arrays, /*down=*/false).keys);
  const int64_t used = used_bytes();
  arrays.push_back({1, 2, 3});
  v1::MergeRequest request = RequestOf(arrays);
  *request.mutable_keys(10) = Int32s(arrays[10]);
  const grpc::Status status = Merge(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("keys: a merge takes at most 32 parts"));
  EXPECT_THAT(status.error_message(), HasSubstr("merge some of them first")) << "what the caller can do";
  EXPECT_EQ(used_bytes(), used) << "what it had reserved";
}

TEST_F(ShardedKeptMergeTest, HoldsItsArraysUntilItEndsAndKeepsNothingOnceCancelled) {
  Start();
  const Arrays arrays = SortedArrays({4000, 4000});
  StoreAll(arrays);
  const int64_t of_arrays = used_bytes();
  device(2).Hold();
  std::future<grpc::Status> merge = MergeLater(RequestOf(arrays));
  EXPECT_TRUE(Eventually([this] { return device(2).held() == 1; }));
  EXPECT_EQ(memory_->Delete(NameOf(0)).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(memory_->Delete("merged").error_code(), grpc::StatusCode::NOT_FOUND) << "not yet";
  EXPECT_EQ(used_bytes(), 2 * of_arrays) << "the result's memory is taken";
  device(2).Release();
  EXPECT_TRUE(merge.get().ok());
  EXPECT_TRUE(memory_->Delete("merged").ok());
  device(1).Hold();
  grpc::ClientContext context;
  merge = std::async(std::launch::async, [&] {
    v1::MergeResponse response;
    return running_->stub().Merge(&context, RequestOf(arrays), &response);
  });
  EXPECT_TRUE(Eventually([this] { return device(1).held() == 1; }));
  context.TryCancel();
  EXPECT_EQ(merge.get().error_code(), grpc::StatusCode::CANCELLED);
  AwaitCancel();
  device(1).Release();
  EXPECT_TRUE(Eventually([&] { return used_bytes() == of_arrays; }));
  EXPECT_EQ(memory_->List().arrays_size(), 2);
}

TEST_F(ShardedKeptMergeTest, FailsWithADeviceThatIsLostAndTheOthersServeOn) {
  Start();
  const Arrays arrays = SortedArrays({3000, 2000});
  StoreAll(arrays);
  device(1).Hold();
  std::future<grpc::Status> merge = MergeLater(RequestOf(arrays));
  EXPECT_TRUE(Eventually([this] { return device(1).held() == 1; }));
  device(1).Lose();
  device(1).Release();
  const grpc::Status status = merge.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_TRUE(Eventually([this] { return used_bytes() == 0; })) << "on the others too";
  StoreAll(arrays);
  ASSERT_TRUE(Merge(RequestOf(arrays)).ok());
  EXPECT_TRUE(Fetched("merged") == Expected(arrays, /*down=*/false).keys);
  EXPECT_FALSE(running_->server().device_lost());
}

}  // namespace
}  // namespace corank::testing
