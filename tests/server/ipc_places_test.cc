// GPU memory of other processes as a place, on an engine that uses host memory instead.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "corank/v1/memory_service.grpc.pb.h"
#include "kernels/engine/forwarding_engine.h"
#include "tests/server/doubles.h"
#include "tests/server/messages.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

constexpr int64_t kBytes = 4096;

class IpcEngine final : public ForwardingEngine {
 public:
  IpcEngine() : ForwardingEngine(std::make_unique<PuppetEngine>()) {}
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                        int64_t size_bytes) override {
    if (handle == "stale") return absl::NotFoundError("no memory has this handle");
    if (handle == "short") return absl::InvalidArgumentError("a handle has more bytes");
    return std::make_unique<EngineMemory>(memory_ + offset_bytes, size_bytes);
  }

 private:
  alignas(256) char memory_[kBytes] = {};
};

Server::Options IpcOptions() {
  Server::Options options = TestOptions();
  options.regions.cuda_ipc = true;
  return options;
}

class IpcPlacesTest : public ::testing::Test {
 protected:
  grpc::Status RegisterHandle(const std::string& name, const std::string& handle, int64_t offset) {
    grpc::ClientContext context;
    v1::RegisterCudaIpcRequest request;
    request.set_name(name);
    request.set_handle(handle);
    request.set_offset_bytes(offset);
    request.set_size_bytes(kBytes - offset);
    v1::RegisterCudaIpcResponse response;
    return memory_->RegisterCudaIpc(&context, request, &response);
  }
  void Register(const std::string& name, int64_t offset) {
    const grpc::Status status = RegisterHandle(name, "a handle", offset);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  static v1::SortRequest SortOf(const std::string& region, int64_t offset) {
    v1::SortRequest request;
    request.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT32);
    request.mutable_keys()->set_count(100);
    request.mutable_keys()->mutable_cuda_ipc()->set_region(region);
    request.mutable_keys()->mutable_cuda_ipc()->set_offset_bytes(offset);
    return request;
  }
  grpc::Status Sort(const v1::SortRequest& request) {
    grpc::ClientContext context;
    v1::SortResponse response;
    return Call(running_.stub(), &context, request, &response);
  }

  RunningServer running_{IpcOptions(), ChosenEngine{std::make_unique<IpcEngine>(), "a test asks for it"}};
  const std::unique_ptr<v1::MemoryService::Stub> memory_ = v1::MemoryService::NewStub(running_.channel());
};

TEST_F(IpcPlacesTest, AddressesAreAlignedNotOffsets) {
  Register("even", 0);
  Register("odd", 2);
  EXPECT_TRUE(Sort(SortOf("even", 8)).ok());
  EXPECT_EQ(BadField(Sort(SortOf("even", 2))), "keys.cuda_ipc.offset_bytes");
  EXPECT_EQ(BadField(Sort(SortOf("odd", 0))), "keys.cuda_ipc.offset_bytes") << "the GPU would lose its context";
  EXPECT_TRUE(Sort(SortOf("odd", 2)).ok());
  v1::SortRequest into = SortOf("even", 0);
  into.mutable_keys_destination()->mutable_cuda_ipc()->set_region("odd");
  into.mutable_keys_destination()->mutable_cuda_ipc()->set_offset_bytes(1000);
  EXPECT_EQ(BadField(Sort(into)), "keys_destination.cuda_ipc.offset_bytes");
  into.mutable_keys_destination()->mutable_cuda_ipc()->set_offset_bytes(1002);
  EXPECT_TRUE(Sort(into).ok());
}

TEST_F(IpcPlacesTest, AResultMayOverlapCountsButNeitherInputsNorResults) {
  Register("region", 0);
  v1::SortRequest sort = SortOf("region", 400);  // 400 bytes
  v1::RegionPlace& into = *sort.mutable_keys_destination()->mutable_cuda_ipc();
  into.set_region("region");
  for (const int64_t inside : {4, 400, 796}) {
    into.set_offset_bytes(inside);
    EXPECT_EQ(BadField(Sort(sort)), "keys_destination") << inside;
  }
  for (const int64_t beside : {0, 800}) {
    into.set_offset_bytes(beside);
    EXPECT_TRUE(Sort(sort).ok()) << beside;
  }
  sort.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  *sort.mutable_indices_destination()->mutable_cuda_ipc() = into;
  EXPECT_EQ(BadField(Sort(sort)), "indices_destination");

  v1::MoveIntervalsRequest move;
  *move.mutable_source() = Int64s({1, 2});
  move.mutable_source_offsets()->set_type(v1::ELEMENT_TYPE_INT64);
  move.mutable_source_offsets()->set_count(2);  // zeros
  move.mutable_source_offsets()->mutable_cuda_ipc()->set_region("region");
  *move.mutable_destination_offsets() = Int64s({0, 1});
  *move.mutable_counts() = Int64s({1, 1});
  move.set_destination_count(2);
  *move.mutable_result_destination()->mutable_cuda_ipc() = move.source_offsets().cuda_ipc();
  grpc::ClientContext context;
  v1::MoveIntervalsResponse response;
  const grpc::Status status = Call(running_.stub(), &context, move, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(IpcPlacesTest, AHandleOfNoMemoryIsNotFoundAndLeavesNoRegion) {
  for (const auto& [handle, code] :
       {std::pair("stale", grpc::StatusCode::NOT_FOUND), std::pair("short", grpc::StatusCode::INVALID_ARGUMENT)}) {
    const grpc::Status status = RegisterHandle("region", handle, 0);
    EXPECT_EQ(status.error_code(), code) << handle;
    EXPECT_EQ(BadField(status), "handle");
  }
  grpc::ClientContext context;
  v1::ListRegionsResponse listed;
  ASSERT_TRUE(memory_->ListRegions(&context, v1::ListRegionsRequest(), &listed).ok());
  EXPECT_EQ(listed.regions_size(), 0);
  Register("region", 0);  // the name is free
  EXPECT_TRUE(Sort(SortOf("region", 0)).ok());
}

}  // namespace
}  // namespace corank::testing
