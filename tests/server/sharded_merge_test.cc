// One merge on several devices. The devices are CPU engines that tests hold and lose, so that nothing depends on speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/sharded_fixture.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

using Arrays = std::vector<std::vector<int32_t>>;

class ShardedMergeTest : public ShardedTest {
 protected:
  struct Answer {
    grpc::Status status;
    v1::MergeResponse response;
    int devices() const { return status.ok() ? response.stats().devices() : -1; }
  };

  static Arrays MakeArrays(const std::vector<int64_t>& counts, uint32_t distinct, bool down = false) {
    Arrays arrays;
    for (const int64_t count : counts) {
      arrays.push_back(Keys(count, distinct));
      std::vector<int32_t>& keys = arrays.back();
      std::sort(keys.begin(), keys.end());
      if (down) std::reverse(keys.begin(), keys.end());
    }
    return arrays;
  }
  static v1::MergeRequest RequestOf(const Arrays& arrays) {
    v1::MergeRequest request;
    for (const std::vector<int32_t>& array : arrays) *request.add_keys() = Int32s(array);
    return request;
  }

  Answer Merge(const v1::MergeRequest& request) {
    Answer answer;
    grpc::ClientContext context;
    answer.status = running_->stub().Merge(&context, request, &answer.response);
    return answer;
  }
  Answer MergeOn(int devices, const v1::MergeRequest& request) {
    return AnswerOn(devices, [&] { return Merge(request); });
  }
  // Values are the positions in the concatenation of all arrays, so that they tell whether the merge is stable.
  void ExpectMerged(const Answer& answer, const Arrays& arrays, bool down, bool with_values) {
    std::vector<int32_t> all;
    for (const std::vector<int32_t>& array : arrays) all.insert(all.end(), array.begin(), array.end());
    std::vector<int32_t> order(all.size()), expected;
    std::iota(order.begin(), order.end(), 0);
    const auto row = [&all](int32_t at) { return all[static_cast<size_t>(at)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return down ? row(a) > row(b) : row(a) < row(b); });
    for (const int32_t at : order) expected.push_back(row(at));
    EXPECT_TRUE(Elements<int32_t>(answer.response.keys()) == expected);
    EXPECT_TRUE(!with_values || Elements<int32_t>(answer.response.values()) == order);
  }
};

class Merges : public ShardedMergeTest, public ::testing::WithParamInterface<int> {};

TEST_P(Merges, AreStableMergesOfTheWhole) {
  Start(GetParam());
  std::vector<int64_t> forty(40, 100);
  forty[7] = forty[39] = 0;
  const std::vector<std::vector<int64_t>> shapes = {{5000, 4001}, {0, 9000}, {1, 0, 8000, 2}, forty};
  for (const std::vector<int64_t>& counts : shapes) {
    for (const uint32_t distinct : {1U, 7U, 1U << 30}) {
      for (const bool down : {false, true}) {
        const Arrays arrays = MakeArrays(counts, distinct, down);
        v1::MergeRequest request = RequestOf(arrays);
        if (down) request.set_order(v1::SORT_ORDER_DESCENDING);
        ExpectMerged(MergeOn(GetParam(), request), arrays, down, /*with_values=*/false);
        int32_t first = 0;
        for (const std::vector<int32_t>& array : arrays) {
          std::vector<int32_t> numbers(array.size());
          std::iota(numbers.begin(), numbers.end(), first);
          first += static_cast<int32_t>(array.size());
          *request.add_values() = Int32s(numbers);
        }
        ExpectMerged(MergeOn(GetParam(), request), arrays, down, /*with_values=*/true);
      }
    }
  }
  EXPECT_GE(Shared("merge"), 48);
  EXPECT_EQ(Shared("sort"), 0);
}

INSTANTIATE_TEST_SUITE_P(OnSeveralDevices, Merges, ::testing::Values(2, 3, 8));

TEST_F(ShardedMergeTest, NeedsNoLinks) {
  are_linked_ = false;
  Start(3);
  const Arrays arrays = MakeArrays({5000, 4001}, 7);
  ExpectMerged(MergeOn(3, RequestOf(arrays)), arrays, /*down=*/false, /*with_values=*/false);
}

TEST_F(ShardedMergeTest, TakesAThousandArrays) {
  Start(2);
  const Arrays arrays = MakeArrays(std::vector<int64_t>(1024, 9), 5);
  ExpectMerged(MergeOn(2, RequestOf(arrays)), arrays, /*down=*/false, /*with_values=*/false);
}

TEST_F(ShardedMergeTest, NamesTheElementThatIsOutOfOrder) {
  Start(3);
  const Arrays sorted = MakeArrays({400, 500, 300}, 1 << 30);
  for (int i = 1; i < 500; ++i) {
    Arrays arrays = sorted;
    std::swap(arrays[1][static_cast<size_t>(i)], arrays[1][static_cast<size_t>(i - 1)]);
    if (i % 2 == 0) std::swap(arrays[2][40], arrays[2][200]);
    const grpc::Status status = Merge(RequestOf(arrays)).status;
    ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
    EXPECT_THAT(status.error_message(), HasSubstr("keys[1]"));
    EXPECT_THAT(status.error_message(), HasSubstr("the element at index " + std::to_string(i) + " "));
  }
  EXPECT_GT(Shared("merge"), 0);
}

TEST_F(ShardedMergeTest, PermutesUncheckedArrays) {
  Start(3);
  std::vector<int32_t> all = Keys(6000), merged;
  v1::MergeRequest request = RequestOf({Keys(2500), Keys(6000)});
  request.set_assume_sorted(true);
  merged = Elements<int32_t>(MergeOn(3, request).response.keys());
  const std::vector<int32_t> more = Keys(2500);
  all.insert(all.end(), more.begin(), more.end());
  EXPECT_TRUE(std::is_permutation(merged.begin(), merged.end(), all.begin(), all.end()));
}

TEST_F(ShardedMergeTest, ReadsAndWritesSharedMemoryWhereTheResultIsApart) {
  Start(2);
  constexpr int64_t kBytes = 1 << 20, kHalf = kBytes / 2;
  SharedObject object(kBytes);
  ASSERT_TRUE(MemoryCalls(running_->channel()).Register(object).ok());
  const Arrays arrays = MakeArrays({3000, 2000}, 100);
  v1::MergeRequest request;
  int64_t offset = 0;
  for (const std::vector<int32_t>& array : arrays) {
    *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, static_cast<int64_t>(array.size()), offset);
    offset += static_cast<int64_t>(array.size() * sizeof(int32_t));
  }
  std::vector<int32_t> inputs = arrays[0];
  inputs.insert(inputs.end(), arrays[1].begin(), arrays[1].end());
  std::vector<int32_t> expected = inputs;
  std::sort(expected.begin(), expected.end());
  std::copy(inputs.begin(), inputs.end(), object.As<int32_t>());
  const auto merged_at = [&](int64_t at) {
    return std::vector<int32_t>(object.As<int32_t>(at), object.As<int32_t>(at) + expected.size());
  };
  *request.mutable_keys_destination() = ToRegion(kHalf);
  MergeOn(2, request);
  EXPECT_TRUE(merged_at(kHalf) == expected);
  *request.mutable_keys_destination() = ToRegion(0);
  MergeOn(1, request);  // the result lies where an input is
  EXPECT_TRUE(merged_at(0) == expected);
}

TEST_F(ShardedMergeTest, TakesOneDeviceWhereOthersWouldNotHelp) {
  Start();
  MergeOn(1, RequestOf(MakeArrays({5, 6}, 100)));
  MergeOn(1, RequestOf(MakeArrays(std::vector<int64_t>(300, 1), 100)));  // parts of a few bytes
  EXPECT_EQ(Shared("merge"), 0);
}

TEST_F(ShardedMergeTest, IsOffWhereRequestsMayTakeOneDevice) {
  Start(2, /*devices_per_request=*/1);
  MergeOn(1, RequestOf(MakeArrays({5000, 5000}, 100)));
  EXPECT_EQ(Shared("merge"), 0);
}

TEST_F(ShardedMergeTest, FailsWithADeviceThatIsLostAndTheOthersServeOn) {
  Start();
  const Arrays arrays = MakeArrays({3000, 2000}, 1 << 30);
  const v1::MergeRequest request = RequestOf(arrays);
  ExpectMerged(MergeOn(2, request), arrays, /*down=*/false, /*with_values=*/false);
  LoseADeviceOf([&] { return Merge(request); });
  for (int i = 0; i < 5; ++i) {
    const Answer answer = Merge(request);
    EXPECT_EQ(answer.devices(), 1) << answer.status.error_message();
    ExpectMerged(answer, arrays, /*down=*/false, /*with_values=*/false);
  }
  EXPECT_FALSE(running_->server().device_lost());
}

}  // namespace
}  // namespace corank::testing
