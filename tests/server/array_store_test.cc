// Arrays that the server keeps, and pages of lists.
#include "server/memory/array_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "server/memory/pages.h"
#include "tests/server/doubles.h"
#include "tests/server/shared_object.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPage = 4096;

class ArrayStoreTest : public ::testing::Test {
 protected:
  ArrayStoreTest() : store_(TestOptions(), &devices_, &clock_) {}
  static ArrayStore::Options TestOptions() {
    ArrayStore::Options options;
    options.max_bytes = 100 * kPage;
    options.quota_bytes = 60 * kPage;
    return options;
  }
  absl::Status Keep(const std::string& owner, const std::string& name, int64_t pages, int64_t expiry = 0) {
    const int64_t bytes = pages * kPage;
    auto room = store_.Reserve(owner, /*device=*/0, bytes, "values");
    if (!room.ok()) return room.status();
    auto array = store_.Make(*room, bytes);
    if (!array.ok()) return array.status();
    (*array)->type = v1::ELEMENT_TYPE_UINT8;
    (*array)->element_bytes = 1;
    (*array)->count = bytes;
    return store_.Keep(owner, name, *std::move(array), std::chrono::seconds(expiry));
  }

  PuppetEngine engine_;
  const DeviceSet devices_{{&engine_}};
  FakeClock clock_;
  ArrayStore store_;
};

TEST_F(ArrayStoreTest, KeepsListsReplacesAndDeletes) {
  ASSERT_TRUE(Keep("a", "y", 10).ok());
  ASSERT_TRUE(Keep("a", "x", 20).ok());
  ASSERT_TRUE(Keep("a", "y", 30).ok());
  const v1::ListArraysResponse list = store_.List("a");
  ASSERT_EQ(list.arrays_size(), 2);
  EXPECT_EQ(list.arrays(0).name(), "x");
  EXPECT_EQ(list.arrays(1).count(), 30 * kPage);
  EXPECT_EQ(list.used_bytes(), 50 * kPage);
  EXPECT_EQ(list.quota_bytes(), 60 * kPage);
  EXPECT_EQ(store_.Find("b", "x", "keys").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_.Delete("a", "x").ok());
  EXPECT_EQ(store_.Delete("a", "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.used_bytes(), 30 * kPage);
}

TEST_F(ArrayStoreTest, RoomIsNobodyElsesUntilItIsGivenBack) {
  {
    auto room = store_.Reserve("a", /*device=*/0, 50 * kPage, "keys");
    ASSERT_TRUE(room.ok());
    EXPECT_EQ(NamedField(store_.Reserve("a", 0, 11 * kPage, "keys").status()), "keys") << "the quota";
    EXPECT_TRUE(HasRetryDelay(store_.Reserve("b", 0, 51 * kPage, "keys").status()));
    const auto array = store_.Make(*room, 40 * kPage);
    ASSERT_TRUE(array.ok());
    EXPECT_EQ(room->bytes(), 0) << "it went into the array";
    EXPECT_EQ(store_.used_bytes(), 50 * kPage);
  }
  EXPECT_EQ(store_.used_bytes(), 0);
  EXPECT_TRUE(store_.Reserve("a", 0, 60 * kPage, "keys").ok());
}

TEST_F(ArrayStoreTest, MoreThanADeviceEverKeepsIsNotToldToRetry) {
  ArrayStore::Options options = TestOptions();
  options.quota_bytes = 200 * kPage;
  ArrayStore store(options, &devices_, &clock_);
  const absl::Status never = store.Reserve("a", /*device=*/0, 101 * kPage, "keys").status();
  EXPECT_EQ(never.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NamedField(never), "keys");
  EXPECT_TRUE(store.Reserve("a", /*device=*/0, 100 * kPage, "keys").ok())
      << "what was refused takes nothing of the quota";
}

TEST_F(ArrayStoreTest, MoreThanTheQuotaIsOrADeviceHasIsNotToldToDeleteOthers) {
  const auto refused = [&](int64_t pages) {
    const absl::Status status = Keep("a", "x", pages);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(NamedField(status), "values");
    return std::string(status.message());
  };
  EXPECT_THAT(refused(61), HasSubstr("(--kept-quota-bytes)"));
  EXPECT_THAT(refused(101), HasSubstr("(--kept-bytes)")) << "which no caller's quota can be more than";
  EXPECT_EQ(store_.used_bytes(), 0);
  EXPECT_TRUE(Keep("a", "x", 60).ok());
}

TEST_F(ArrayStoreTest, TheQuotaIsTheOwnersAndTheBoundIsTheServers) {
  ASSERT_TRUE(Keep("a", "x", 60).ok());
  const absl::Status over = Keep("a", "y", 1);
  EXPECT_EQ(over.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(NamedField(over), "values");
  const absl::Status full = Keep("b", "y", 41);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(HasRetryDelay(full));
  EXPECT_EQ(store_.used_bytes(), 60 * kPage) << "what was refused takes nothing";
  EXPECT_TRUE(Keep("b", "y", 40).ok());
}

TEST_F(ArrayStoreTest, WhatIsInUseStaysUntilItsUserIsThrough) {
  ASSERT_TRUE(Keep("a", "x", 10).ok());
  {
    const auto used = store_.Find("a", "x", "keys");
    EXPECT_EQ(store_.Delete("a", "x").code(), absl::StatusCode::kFailedPrecondition);
    ASSERT_TRUE(Keep("a", "x", 20).ok());
    EXPECT_EQ((*used)->count, 10 * kPage);
    EXPECT_EQ(store_.used_bytes(), 30 * kPage);
    clock_.Advance(std::chrono::hours(2));
    EXPECT_EQ(store_.List("a").arrays_size(), 0);
  }
  EXPECT_EQ(store_.used_bytes(), 0);
}

TEST_F(ArrayStoreTest, ExpiryIsRoundedUpToSecondsAndAtMostADay) {
  const auto read = [this](int64_t seconds, int32_t nanos) {
    google::protobuf::Duration expiry;
    expiry.set_seconds(seconds);
    expiry.set_nanos(nanos);
    return store_.ReadExpiry("expiry", expiry);
  };
  EXPECT_EQ(read(0, 0)->count(), 0) << "the default";
  EXPECT_EQ(read(0, 1)->count(), 1);
  EXPECT_EQ(read(1, 0)->count(), 1);
  EXPECT_EQ(read(59, 999'999'999)->count(), 60);
  EXPECT_EQ(read(86400, 0)->count(), 86400);
  for (const auto& [seconds, nanos] : std::vector<std::pair<int64_t, int32_t>>{
           {86400, 1}, {86401, 0}, {-1, 0}, {0, -1}, {1, -1}, {0, 1'000'000'000}, {int64_t{1} << 62, 0}}) {
    EXPECT_EQ(NamedField(read(seconds, nanos).status()), "expiry") << seconds << " s and " << nanos << " ns";
  }
}

TEST_F(ArrayStoreTest, ListsInPagesThatNeitherRepeatNorSkipWhatStays) {
  for (const char* name : {"b", "a", "c", "e"}) ASSERT_TRUE(Keep("a", name, 1).ok());
  ASSERT_TRUE(Keep("b", "other", 1).ok());
  const auto names = [](const v1::ListArraysResponse& list) {
    std::string joined;
    for (const v1::StoredArray& array : list.arrays()) joined += array.name();
    return joined;
  };
  Page page;
  page.size = 2;
  v1::ListArraysResponse list = store_.List("a", page);
  EXPECT_EQ(names(list), "ab");
  EXPECT_EQ(names(store_.List("a", *ReadPage(ArrayStore::kListName, 2, list.next_page_token()))), "ce");
  // The next page begins behind the name "b", even if that array is gone.
  ASSERT_TRUE(store_.Delete("a", "b").ok());
  ASSERT_TRUE(Keep("a", "aa", 1).ok());
  ASSERT_TRUE(Keep("a", "d", 1).ok());
  page = *ReadPage(ArrayStore::kListName, 3, list.next_page_token());
  list = store_.List("a", page);
  EXPECT_EQ(names(list), "cde");
  EXPECT_EQ(list.next_page_token(), "") << "the last page is full, and still the last";
  EXPECT_EQ(list.used_bytes(), 5 * kPage);
}

TEST(Pages, SizesAreCutAndTokensOfOthersAreRefused) {
  EXPECT_EQ(ReadPage("arrays", 0, "")->size, 1000);
  EXPECT_EQ(ReadPage("arrays", 1, "")->size, 1);
  EXPECT_EQ(ReadPage("arrays", 1000, "")->size, 1000);
  EXPECT_EQ(ReadPage("arrays", 1001, "")->size, 1000);
  EXPECT_EQ(ReadPage("arrays", std::numeric_limits<int32_t>::max(), "")->size, 1000);
  EXPECT_EQ(NamedField(ReadPage("arrays", -1, "").status()), "page_size");
  const std::string name(128, 'z'), token = PageToken("arrays", name);
  EXPECT_EQ(ReadPage("arrays", 5, token)->after, name);
  EXPECT_EQ(NamedField(ReadPage("regions", 5, token).status()), "page_token") << "of another list";
  for (const std::string& wrong :
       {std::string("a"), std::string("b"), name, token + "=", token.substr(4), token + "\n", PageToken("arrays", ""),
        PageToken("arrays", "a b"), std::string(1, '\0'), std::string("%%%")}) {
    EXPECT_EQ(NamedField(ReadPage("arrays", 5, wrong).status()), "page_token") << wrong;
  }
}

TEST_F(ArrayStoreTest, ExpiryIsTheMakers) {
  ASSERT_TRUE(Keep("a", "short", 1, 60).ok());
  ASSERT_TRUE(Keep("a", "long", 1, 7200).ok());
  clock_.Advance(std::chrono::seconds(61));
  ASSERT_EQ(store_.List("a").arrays_size(), 1);
  EXPECT_EQ(store_.List("a").arrays(0).expires_in().seconds(), 7200 - 61);
}

TEST_F(ArrayStoreTest, SmallArraysAreChargedTooSoThatTheirNumberIsBounded) {
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(Keep("a", std::to_string(i), 0).ok()) << i;
  EXPECT_EQ(NamedField(Keep("a", "60", 0)), "values");
  EXPECT_EQ(store_.List("a").used_bytes(), 60 * kPage);
  EXPECT_TRUE(Keep("b", "0", 0).ok());
  EXPECT_EQ(store_.DevicesWithRoom(40 * kPage), 0U);
  EXPECT_NE(store_.DevicesWithRoom(1), 0U);
  for (int i = 1; i < 40; ++i) ASSERT_TRUE(Keep("b", std::to_string(i), 0).ok()) << i;
  EXPECT_TRUE(HasRetryDelay(Keep("b", "40", 0)));
  EXPECT_EQ(store_.DevicesWithRoom(1), 0U);
}

TEST_F(ArrayStoreTest, WhatHasExpiredGivesItsQuotaBackToTheNextOne) {
  ASSERT_TRUE(Keep("a", "x", 60).ok());
  clock_.Advance(std::chrono::hours(2));
  EXPECT_TRUE(Keep("a", "y", 60).ok());
  EXPECT_EQ(store_.used_bytes(), 60 * kPage);
}

TEST_F(ArrayStoreTest, UseAndReplacementPutTheExpiryOff) {
  ASSERT_TRUE(Keep("a", "found", 1, 100).ok());
  ASSERT_TRUE(Keep("a", "replaced", 1, 100).ok());
  ASSERT_TRUE(Keep("a", "held", 1, 100).ok());
  ASSERT_TRUE(Keep("a", "left", 1, 100).ok());
  auto held = store_.Find("a", "held", "keys");
  clock_.Advance(std::chrono::seconds(60));
  EXPECT_TRUE(store_.Find("a", "found", "keys").ok());
  ASSERT_TRUE(Keep("a", "replaced", 1, 90).ok());
  clock_.Advance(std::chrono::seconds(60));
  const v1::ListArraysResponse list = store_.List("a");
  ASSERT_EQ(list.arrays_size(), 3);
  EXPECT_EQ(list.arrays(0).expires_in().seconds(), 40) << "found";
  EXPECT_EQ(list.arrays(1).expires_in().seconds(), 100) << "held: in use until now";
  EXPECT_EQ(list.arrays(2).expires_in().seconds(), 30) << "replaced";
  held = absl::CancelledError();
  clock_.Advance(std::chrono::seconds(101));
  EXPECT_EQ(store_.List("a").arrays_size(), 0);
  EXPECT_EQ(store_.used_bytes(), 0);
}

TEST_F(ArrayStoreTest, ALostDevicesArraysLeaveTheirBudgetsWithTheirLastUser) {
  ASSERT_TRUE(Keep("a", "x", 40).ok());
  ASSERT_TRUE(Keep("a", "y", 20).ok());
  {
    const auto used = store_.Find("a", "x", "keys");
    store_.ForgetDevice(0);
    EXPECT_EQ(store_.used_bytes(), 40 * kPage);
    EXPECT_EQ(store_.Find("a", "x", "keys").status().code(), absl::StatusCode::kNotFound);
  }
  EXPECT_EQ(store_.used_bytes(), 0);
  EXPECT_TRUE(store_.Reserve("a", 0, 60 * kPage, "keys").ok()) << "the quota is free again";
}

}  // namespace
}  // namespace corank::testing
