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

#include "corank/v1/memory_service.grpc.pb.h"
#include "tests/server/messages.h"
#include "tests/server/sharded_fixture.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {

/// Of a device for kept arrays.
inline constexpr int64_t kDeviceBytes = 40'000, kPlenty = int64_t{1} << 20;

inline v1::Array Kept(const std::string& name, v1::ElementType type = v1::ELEMENT_TYPE_INT32) {
  v1::Array array;
  array.set_type(type);
  array.mutable_stored()->set_name(name);
  return array;
}

inline void KeepAs(const std::string& name, v1::Destination* destination) {
  destination->mutable_stored()->set_name(name);
  destination->mutable_stored()->set_sharded(true);
}

class ShardedKeptTest : public ShardedTest {
 protected:
  void Start(int devices = 3, int devices_per_request = 0, int64_t device_bytes = kDeviceBytes) {
    kept_bytes_ = device_bytes;
    ShardedTest::Start(devices, devices_per_request);
    memory_ = v1::MemoryService::NewStub(running_->channel());
  }

  /// In chunks that end anywhere.
  grpc::Status Store(const std::string& name, const v1::Array& array, bool sharded = true,
                     v1::StoredArray* stored = nullptr) {
    const auto bytes = static_cast<int64_t>(array.inline_data().size());
    const int64_t element = array.type() == v1::ELEMENT_TYPE_RECORD ? array.record_bytes() : 4;
    grpc::ClientContext context;
    v1::StoreArrayResponse response;
    const auto writer = memory_->StoreArray(&context, &response);
    v1::StoreArrayRequest request;
    v1::StoreArrayHeader& header = *request.mutable_header();
    header.set_name(name);
    header.set_sharded(sharded);
    *header.mutable_array() = Streamed(array.type(), bytes / element, 0);
    header.mutable_array()->set_record_bytes(array.record_bytes());
    writer->Write(request);
    for (int64_t first = 0, count = 0; first < bytes / element; first += count) {
      count = std::min<int64_t>(997, bytes / element - first);
      request.mutable_chunk()->set_first_element(first);
      request.mutable_chunk()->set_data(array.inline_data().data() + first * element,
                                        static_cast<size_t>(count * element));
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (stored != nullptr) *stored = response.array();
    return status;
  }
  grpc::Status Store(const std::string& name, const std::vector<int32_t>& values, bool sharded = true) {
    return Store(name, Int32s(values), sharded);
  }

  grpc::Status Fetch(const std::string& name, std::string* bytes) {
    grpc::ClientContext context;
    v1::FetchArrayRequest request;
    request.set_name(name);
    const auto reader = memory_->FetchArray(&context, request);
    v1::FetchArrayResponse response;
    bytes->clear();
    while (reader->Read(&response)) *bytes += response.chunk().data();
    return reader->Finish();
  }
  template <typename T = int32_t>
  std::vector<T> Fetched(const std::string& name) {
    v1::Array array;
    const grpc::Status status = Fetch(name, array.mutable_inline_data());
    EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
    return Elements<T>(array);
  }

  grpc::Status Delete(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteArrayRequest request;
    request.set_name(name);
    v1::DeleteArrayResponse response;
    return memory_->DeleteArray(&context, request, &response);
  }
  v1::ListArraysResponse List() {
    grpc::ClientContext context;
    v1::ListArraysResponse response;
    EXPECT_TRUE(memory_->ListArrays(&context, v1::ListArraysRequest(), &response).ok());
    return response;
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
  void ExpectRefused(const grpc::Status& status, const std::string& field) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << field;
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr(field));
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("fetch")) << "what the caller can do";
  }

  /// After a call has been cancelled: waits until the server knows. The connection carries both in order.
  void AwaitCancel() { List(); }

  std::unique_ptr<v1::MemoryService::Stub> memory_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SHARDED_KEPT_FIXTURE_H_
