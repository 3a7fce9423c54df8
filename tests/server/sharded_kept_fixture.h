// A server whose devices keep parts of arrays.
#ifndef CORANK_TESTS_SERVER_SHARDED_KEPT_FIXTURE_H_
#define CORANK_TESTS_SERVER_SHARDED_KEPT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/sharded_fixture.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {

/// Of a device for kept arrays.
using Ints = std::vector<int32_t>;

inline Ints Sorted(Ints keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

inline constexpr int64_t kDeviceBytes = 40'000, kPlenty = int64_t{1} << 20;

class ShardedKeptTest : public ShardedTest {
 protected:
  void Start(int devices = 3, int devices_per_request = 0, int64_t device_bytes = kDeviceBytes) {
    kept_bytes_ = device_bytes;
    ShardedTest::Start(devices, devices_per_request);
    memory_ = std::make_unique<MemoryCalls>(running_->channel());
  }

  grpc::Status Store(const std::string& name, const v1::Array& array, bool sharded = true,
                     v1::StoredArray* stored = nullptr) {
    MemoryCalls::StoreOptions options;
    options.sharded = sharded;
    return memory_->Store(name, array, options, stored);
  }
  grpc::Status Store(const std::string& name, const std::vector<int32_t>& values, bool sharded = true) {
    return Store(name, Int32s(values), sharded);
  }
  template <typename T = int32_t>
  std::vector<T> Fetched(const std::string& name) {
    v1::Array array;
    const grpc::Status status = memory_->Fetch(name, array.mutable_inline_data());
    EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
    return Elements<T>(array);
  }

  grpc::Status Sort(const v1::SortRequest& request, v1::SortResponse* response = nullptr) {
    grpc::ClientContext context;
    v1::SortResponse ignored;
    return running_->stub().Sort(&context, request, response == nullptr ? &ignored : response);
  }
  std::future<grpc::Status> SortLater(const v1::SortRequest& request) {
    return std::async(std::launch::async, [this, request] { return Sort(request); });
  }
  const ArrayStore& arrays() const { return running_->server().arrays(); }

  /// After a call has been cancelled: waits until the server knows. The connection carries both in order.
  void AwaitCancel() { memory_->List(); }

  std::unique_ptr<MemoryCalls> memory_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SHARDED_KEPT_FIXTURE_H_
