// Arrays in shared memory and arrays kept on the server, over the wire, on the CPU engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "corank/v1/memory_service.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kRegionBytes = int64_t{1} << 20;

Server::Options PlacesOptions() {
  Server::Options options = TestOptions();
  options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
  options.arrays.max_bytes = options.arrays.quota_bytes = 1 << 20;
  options.limits.max_chunk_bytes = 4096;
  return options;
}

v1::Array Shared(v1::ElementType type, int64_t count, int64_t offset_bytes) {
  v1::Array array;
  array.set_type(type);
  array.set_count(count);
  array.mutable_shared_memory()->set_region("r");
  array.mutable_shared_memory()->set_offset_bytes(offset_bytes);
  return array;
}

v1::Destination InRegion(int64_t offset_bytes) {
  v1::Destination destination;
  destination.mutable_shared_memory()->set_region("r");
  destination.mutable_shared_memory()->set_offset_bytes(offset_bytes);
  return destination;
}

v1::Array Kept(v1::ElementType type, const std::string& name) {
  v1::Array array;
  array.set_type(type);
  array.mutable_stored()->set_name(name);
  return array;
}

v1::Destination KeptAs(const std::string& name) {
  v1::Destination destination;
  destination.mutable_stored()->set_name(name);
  return destination;
}

std::vector<int32_t> Values(const v1::Array& array) {
  std::vector<int32_t> values(array.inline_data().size() / sizeof(int32_t));
  std::memcpy(values.data(), array.inline_data().data(), array.inline_data().size());
  return values;
}

class PlacesTest : public ::testing::Test {
 protected:
  PlacesTest() : memory_(v1::MemoryService::NewStub(server_.channel())) {
    v1::RegisterSharedMemoryRequest request;
    request.set_name("r");
    request.set_key(object_.key());
    request.set_size_bytes(kRegionBytes);
    EXPECT_TRUE(Register(request).ok());
  }
  ~PlacesTest() override {
    EXPECT_TRUE(Eventually([this] { return server_.server().active_calls() == 0; }));
    EXPECT_TRUE(Eventually([this] { return server_.server().host_pool().buffers_in_use() == 0; }));
  }

  grpc::Status Register(const v1::RegisterSharedMemoryRequest& request) {
    grpc::ClientContext context;
    v1::RegisterSharedMemoryResponse response;
    return memory_->RegisterSharedMemory(&context, request, &response);
  }
  grpc::Status Unregister() {
    grpc::ClientContext context;
    v1::UnregisterRegionRequest request;
    request.set_name("r");
    v1::UnregisterRegionResponse response;
    return memory_->UnregisterRegion(&context, request, &response);
  }
  template <typename Request>
  grpc::Status Run(const Request& request, typename Unary<Request>::Response* response) {
    grpc::ClientContext context;
    return Call(server_.stub(), &context, request, response);
  }
  template <typename Request>
  std::string ErrorField(const Request& request, grpc::StatusCode code) {
    typename Unary<Request>::Response response;
    const grpc::Status status = Run(request, &response);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    return BadField(status);
  }
  // Sends chunks of `chunk` elements.
  grpc::Status Store(const std::string& name, const std::vector<int32_t>& values, size_t chunk = 1000,
                     int64_t announced = -1) {
    grpc::ClientContext context;
    v1::StoreArrayResponse response;
    const auto writer = memory_->StoreArray(&context, &response);
    v1::StoreArrayRequest request;
    request.mutable_header()->set_name(name);
    v1::Array* const array = request.mutable_header()->mutable_array();
    array->set_type(v1::ELEMENT_TYPE_INT32);
    array->set_count(announced < 0 ? static_cast<int64_t>(values.size()) : announced);
    array->mutable_stream();
    writer->Write(request);
    for (size_t i = 0; i < values.size(); i += chunk) {
      const size_t count = std::min(chunk, values.size() - i);
      request.mutable_chunk()->set_first_element(static_cast<int64_t>(i));
      request.mutable_chunk()->set_data(values.data() + i, count * sizeof(int32_t));
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  grpc::Status Fetch(const std::string& name, std::vector<int32_t>* values) {
    grpc::ClientContext context;
    v1::FetchArrayRequest request;
    request.set_name(name);
    const auto reader = memory_->FetchArray(&context, request);
    v1::FetchArrayResponse response;
    while (reader->Read(&response)) {
      EXPECT_EQ(response.has_array(), values->empty());
      EXPECT_EQ(response.chunk().first_element(), static_cast<int64_t>(values->size()));
      const std::string& data = response.chunk().data();
      const size_t before = values->size();
      values->resize(before + data.size() / sizeof(int32_t));
      if (!data.empty()) std::memcpy(values->data() + before, data.data(), data.size());
    }
    return reader->Finish();
  }

  SharedObject object_{kRegionBytes};
  RunningServer server_{PlacesOptions(), ReachEngine()};
  std::unique_ptr<v1::MemoryService::Stub> memory_;
};

TEST_F(PlacesTest, SortReadsAndWritesSharedMemory) {
  std::mt19937 random(7);
  int32_t* const keys = object_.As<int32_t>();
  std::generate_n(keys, 10000, [&random] { return static_cast<int32_t>(random()); });
  std::vector<int32_t> expected(keys, keys + 10000);
  std::stable_sort(expected.begin(), expected.end());
  v1::SortRequest request;
  *request.mutable_keys() = Shared(v1::ELEMENT_TYPE_INT32, 10000, 0);
  *request.mutable_keys_destination() = InRegion(65536);
  v1::SortResponse response;
  const grpc::Status status = Run(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(std::vector<int32_t>(object_.As<int32_t>(65536), object_.As<int32_t>(65536) + 10000), expected);
  EXPECT_EQ(response.keys().shared_memory().region(), "r");
  EXPECT_EQ(response.keys().shared_memory().offset_bytes(), 65536);
  EXPECT_EQ(response.keys().count(), 10000);
  // In place, starting at another element than the first.
  *request.mutable_keys() = Shared(v1::ELEMENT_TYPE_INT32, 9999, 4);
  *request.mutable_keys_destination() = InRegion(4);
  expected.assign(keys + 1, keys + 10000);
  std::stable_sort(expected.begin(), expected.end());
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_EQ(std::vector<int32_t>(keys + 1, keys + 10000), expected);
}

TEST_F(PlacesTest, InputsAndResultsMayBeInDifferentPlaces) {
  std::iota(object_.As<int32_t>(), object_.As<int32_t>() + 4, 0);
  ASSERT_TRUE(Store("evens", {0, 2, 4}).ok());
  v1::MergeRequest request;
  *request.add_keys() = Shared(v1::ELEMENT_TYPE_INT32, 4, 0);
  *request.add_keys() = Kept(v1::ELEMENT_TYPE_INT32, "evens");
  *request.add_keys() = Int32s({-1, 9});
  *request.mutable_keys_destination() = KeptAs("merged");
  v1::MergeResponse response;
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_EQ(response.keys().stored().name(), "merged");
  std::vector<int32_t> merged;
  ASSERT_TRUE(Fetch("merged", &merged).ok());
  EXPECT_THAT(merged, ElementsAre(-1, 0, 0, 1, 2, 2, 3, 4, 9));
}

TEST_F(PlacesTest, CountsAndOffsetsMayBeShared) {
  object_.As<int64_t>()[0] = 2;
  object_.As<int64_t>()[1] = 0;
  object_.As<int64_t>()[2] = 1;
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = Int32s({7, 8, 9});
  *request.mutable_counts() = Shared(v1::ELEMENT_TYPE_INT64, 3, 0);
  v1::ExpandIntervalsResponse response;
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_THAT(Values(response.values()), ElementsAre(7, 7, 9));
  object_.As<int64_t>()[1] = -1;
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "counts[1]");
}

TEST_F(PlacesTest, CountsAndOffsetsMayBeKept) {
  v1::SortRequest sort;  // keeps its result, which is on the device
  *sort.mutable_keys() = Int64s({2, 0, 1});
  *sort.mutable_keys_destination() = KeptAs("counts");
  v1::SortResponse sorted;
  ASSERT_TRUE(Run(sort, &sorted).ok());
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = Int32s({7, 8, 9});
  *request.mutable_counts() = Kept(v1::ELEMENT_TYPE_INT64, "counts");
  v1::ExpandIntervalsResponse response;
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_THAT(Values(response.values()), ElementsAre(8, 9, 9));
  *sort.mutable_keys() = Int64s({1, -3, 1});
  ASSERT_TRUE(Run(sort, &sorted).ok());
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "counts[0]");
}

TEST_F(PlacesTest, StringsUpToALimitGoWhereTheyAreWanted) {
  std::copy_n("bcab\2", 5, object_.As<char>());
  v1::SortRequest request;
  v1::KeyColumn* const column = request.add_key_columns();
  *column->mutable_data() = Shared(v1::ELEMENT_TYPE_UINT8, 4, 0);
  *column->mutable_offsets() = Int64s({0, 2, 4});
  *column->mutable_validity() = Shared(v1::ELEMENT_TYPE_UINT8, 1, 4);
  *column->mutable_data_destination() = InRegion(100);
  *column->mutable_offsets_destination() = KeptAs("offsets");
  *column->mutable_validity_destination() = InRegion(102);  // behind the string
  request.set_limit(1);
  v1::SortResponse response;
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_EQ(std::string(object_.As<char>(100), 3), "ab\1");
  EXPECT_EQ(response.key_columns(0).data().count(), 2);
  EXPECT_EQ(response.key_columns(0).offsets().stored().name(), "offsets");
}

TEST_F(PlacesTest, RangesOutsideOfTheRegionAreRefused) {
  const auto keys_error = [this](int64_t count, int64_t offset) {
    v1::SortRequest request;
    *request.mutable_keys() = Shared(v1::ELEMENT_TYPE_INT32, count, offset);
    return ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT);
  };
  EXPECT_EQ(keys_error(1, kRegionBytes), "keys.shared_memory.offset_bytes");
  EXPECT_EQ(keys_error(1, -4), "keys.shared_memory.offset_bytes");
  EXPECT_EQ(keys_error(1, 2), "keys.shared_memory.offset_bytes");
  EXPECT_EQ(keys_error(kRegionBytes / 4 + 1, 0), "keys.shared_memory.offset_bytes");
  EXPECT_EQ(keys_error(int64_t{1} << 60, int64_t{1} << 62), "keys.shared_memory.offset_bytes");
  EXPECT_EQ(keys_error((int64_t{1} << 62) + 1, 0), "keys.count");
  EXPECT_EQ(keys_error(-1, 0), "keys.count");
  v1::SortRequest request;
  *request.mutable_keys() = Shared(v1::ELEMENT_TYPE_INT32, 1, 0);
  request.mutable_keys()->clear_count();
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys.count");
  *request.mutable_keys() = Int32s({1, 2});
  *request.mutable_keys_destination() = InRegion(kRegionBytes - 4);
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys_destination.shared_memory.offset_bytes");
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  *request.mutable_keys_destination() = InRegion(0);
  *request.mutable_indices_destination() = InRegion(4);
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "indices_destination");
}

TEST_F(PlacesTest, GroupWritesTheElementsOfTheGroupsOnly) {
  std::fill_n(object_.As<int32_t>(), 5, -1);
  v1::GroupRequest request;
  *request.mutable_keys() = Int32s({4, 2, 4, 4, 2});
  *request.mutable_keys_destination() = InRegion(0);
  *request.mutable_counts_destination() = KeptAs("counts");
  v1::GroupResponse response;
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_THAT(std::vector<int32_t>(object_.As<int32_t>(), object_.As<int32_t>() + 5), ElementsAre(2, 4, -1, -1, -1));
  EXPECT_EQ(response.counts().count(), 2);
}

TEST_F(PlacesTest, ResultsThatNoPlaceHoldsAreRefused) {
  v1::LoadBalanceRequest request;
  *request.mutable_counts() = Int64s({(int64_t{1} << 60) - 3, 1, 1});
  *request.mutable_objects_destination() = KeptAs("objects");
  *request.mutable_ranks_destination() = KeptAs("ranks");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "objects_destination");
}

TEST_F(PlacesTest, UnknownNamesAreNotFound) {
  v1::SortRequest request;
  *request.mutable_keys() = Shared(v1::ELEMENT_TYPE_INT32, 1, 0);
  request.mutable_keys()->mutable_shared_memory()->set_region("other");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::NOT_FOUND), "keys.shared_memory.region");
  *request.mutable_keys() = Kept(v1::ELEMENT_TYPE_INT32, "none");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::NOT_FOUND), "keys.stored.name");
  *request.mutable_keys() = Int32s({1});
  *request.mutable_keys_destination() = KeptAs("no name");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys_destination.stored.name");
  ASSERT_TRUE(Store("x", {1}).ok());
  *request.mutable_keys() = Kept(v1::ELEMENT_TYPE_FLOAT32, "x");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys.type");
}

TEST_F(PlacesTest, ARequestThatFailsKeepsNothing) {
  ASSERT_TRUE(Store("result", {5}).ok());
  v1::MergeRequest request;
  *request.add_keys() = Int32s({2, 1});
  *request.add_keys() = Int32s({3});
  *request.mutable_keys_destination() = KeptAs("result");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys[0]");
  std::vector<int32_t> result;
  ASSERT_TRUE(Fetch("result", &result).ok());
  EXPECT_THAT(result, ElementsAre(5));
  EXPECT_EQ(server_.server().arrays().used_bytes(), ArrayStore::kLeastCharge);
}

TEST_F(PlacesTest, ARegionThatWasMadeSmallerIsRefused) {
  object_.Resize(4096);
  v1::SortRequest request;
  *request.mutable_keys() = Shared(v1::ELEMENT_TYPE_INT32, 10000, 0);
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::FAILED_PRECONDITION), "keys.shared_memory.region");
  EXPECT_TRUE(Unregister().ok());
}

TEST_F(PlacesTest, ALeaseEndsWithItsCaller) {
  SharedObject other(4096);
  v1::RegisterSharedMemoryRequest request;
  request.set_name("leased");
  request.set_key(other.key());
  request.set_size_bytes(4096);
  grpc::ClientContext context;
  const auto lease = memory_->OpenLease(&context, v1::OpenLeaseRequest());
  v1::OpenLeaseResponse opened;
  ASSERT_TRUE(lease->Read(&opened));
  request.set_lease_id(opened.lease_id());
  ASSERT_TRUE(Register(request).ok());
  EXPECT_EQ(server_.server().regions().region_count(), 2);
  context.TryCancel();
  EXPECT_FALSE(lease->Read(&opened));
  lease->Finish();
  EXPECT_TRUE(Eventually([this] { return server_.server().regions().region_count() == 1; }));
}

TEST_F(PlacesTest, StoreTakesOnlyWhatWasAnnounced) {
  const std::vector<int32_t> values(3000, 1);
  EXPECT_EQ(BadField(Store("x", values, 1000, 3001)), "header.array.count");
  EXPECT_EQ(BadField(Store("x", values, 1000, 2999)), "chunk.data");
  EXPECT_EQ(BadField(Store("x", values, 1025)), "chunk.data") << "beyond max_chunk_bytes";
  EXPECT_EQ(BadField(Store("no name", values)), "header.name");
  EXPECT_EQ(BadField(Store("x", std::vector<int32_t>(300000))), "header.array.count") << "more than may ever be kept";
  EXPECT_TRUE(Eventually([this] { return server_.server().arrays().used_bytes() == 0; }));
  EXPECT_TRUE(Store("x", {}).ok());
  std::vector<int32_t> fetched;
  EXPECT_TRUE(Fetch("x", &fetched).ok());
  EXPECT_TRUE(fetched.empty());
}

TEST_F(PlacesTest, ArraysOfManyChunksComeBackAsTheyWent) {
  std::vector<int32_t> values(100003);
  std::iota(values.begin(), values.end(), -5);
  ASSERT_TRUE(Store("x", values, 777).ok());
  std::vector<int32_t> fetched;
  ASSERT_TRUE(Fetch("x", &fetched).ok());
  EXPECT_EQ(fetched, values);
  EXPECT_EQ(Fetch("y", &fetched).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(PlacesTest, AStoreThatIsCutLeavesNothing) {
  grpc::ClientContext context;
  v1::StoreArrayResponse response;
  const auto writer = memory_->StoreArray(&context, &response);
  v1::StoreArrayRequest request;
  request.mutable_header()->set_name("x");
  request.mutable_header()->mutable_array()->set_type(v1::ELEMENT_TYPE_INT32);
  request.mutable_header()->mutable_array()->set_count(100000);
  request.mutable_header()->mutable_array()->mutable_stream();
  ASSERT_TRUE(writer->Write(request));
  EXPECT_TRUE(Eventually([this] { return server_.server().arrays().used_bytes() == 400000; }));
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([this] { return server_.server().arrays().used_bytes() == 0; }));
}

// gRPC's clients refuse messages of more than 4 MiB unless their channel says otherwise.
TEST(FetchedArray, FitsIntoWhatClientsReceiveByDefault) {
  Server::Options options = TestOptions();
  options.arrays.max_bytes = options.arrays.quota_bytes = 64 << 20;
  const RunningServer server(options, ReachEngine());
  const std::unique_ptr<v1::MemoryService::Stub> memory =
      v1::MemoryService::NewStub(grpc::CreateChannel(server.server().address(), grpc::InsecureChannelCredentials()));
  constexpr int64_t kBytes = 9 << 20, kChunk = 1 << 20;
  {
    grpc::ClientContext context;
    v1::StoreArrayResponse response;
    const auto writer = memory->StoreArray(&context, &response);
    v1::StoreArrayRequest request;
    request.mutable_header()->set_name("x");
    request.mutable_header()->mutable_array()->set_type(v1::ELEMENT_TYPE_UINT8);
    request.mutable_header()->mutable_array()->set_count(kBytes);
    request.mutable_header()->mutable_array()->mutable_stream();
    ASSERT_TRUE(writer->Write(request));
    for (int64_t first = 0; first < kBytes; first += kChunk) {
      request.mutable_chunk()->set_first_element(first);
      request.mutable_chunk()->set_data(std::string(kChunk, static_cast<char>(first / kChunk)));
      ASSERT_TRUE(writer->Write(request));
    }
    writer->WritesDone();
    ASSERT_TRUE(writer->Finish().ok());
  }
  grpc::ClientContext context;
  v1::FetchArrayRequest request;
  request.set_name("x");
  const auto reader = memory->FetchArray(&context, request);
  v1::FetchArrayResponse response;
  std::string fetched;
  while (reader->Read(&response)) fetched += response.chunk().data();
  const grpc::Status status = reader->Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(fetched.size(), static_cast<size_t>(kBytes));
  for (int64_t i = 0; i < kBytes; ++i) ASSERT_EQ(fetched[static_cast<size_t>(i)], static_cast<char>(i / kChunk)) << i;
}

// A server with a short timeout for stalled callers.
class IdleTransferTest : public ::testing::Test {
 protected:
  ~IdleTransferTest() override {
    EXPECT_TRUE(Eventually([this] {
      return server_.server().active_calls() == 0 && server_.server().host_pool().buffers_in_use() == 0;
    })) << "a server that drains would wait for the call";
  }
  static Server::Options Options() {
    Server::Options options = PlacesOptions();
    options.arrays.max_bytes = options.arrays.quota_bytes = 64 << 20;
    options.limits.max_chunk_bytes = 1 << 20;
    options.streams.idle_timeout = absl::Milliseconds(200);
    return options;
  }
  static v1::StoreArrayRequest Header(int64_t count) {
    v1::StoreArrayRequest request;
    request.mutable_header()->set_name("x");
    request.mutable_header()->mutable_array()->set_type(v1::ELEMENT_TYPE_INT32);
    request.mutable_header()->mutable_array()->set_count(count);
    request.mutable_header()->mutable_array()->mutable_stream();
    return request;
  }

  RunningServer server_{Options(), ReachEngine()};
  const std::unique_ptr<v1::MemoryService::Stub> memory_{v1::MemoryService::NewStub(server_.channel())};
};

TEST_F(IdleTransferTest, AStoreThatIsSilentEndsAndLeavesNothing) {
  for (const bool with_header : {false, true}) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::StoreArrayResponse response;
    const auto writer = memory_->StoreArray(&context, &response);
    ASSERT_TRUE(!with_header || writer->Write(Header(100000)));
    const grpc::Status status = writer->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("sent nothing for 200ms"));
    EXPECT_TRUE(Eventually([this] { return server_.server().arrays().used_bytes() == 0; }));
  }
}

TEST_F(IdleTransferTest, AFetchThatIsNotReadEnds) {
  {
    grpc::ClientContext context;
    v1::StoreArrayResponse response;
    const auto writer = memory_->StoreArray(&context, &response);
    ASSERT_TRUE(writer->Write(Header(8 << 20)));
    v1::StoreArrayRequest chunk;
    for (int64_t first = 0; first < 8 << 20; first += 1 << 18) {
      chunk.mutable_chunk()->set_first_element(first);
      chunk.mutable_chunk()->set_data(std::string(1 << 20, 'x'));
      ASSERT_TRUE(writer->Write(chunk));
    }
    writer->WritesDone();
    const grpc::Status stored = writer->Finish();
    ASSERT_TRUE(stored.ok()) << stored.error_message();
  }
  grpc::ClientContext context;
  v1::FetchArrayRequest request;
  request.set_name("x");
  const auto reader = memory_->FetchArray(&context, request);
  EXPECT_TRUE(Eventually([this] { return server_.server().active_calls() == 1; }));
  EXPECT_TRUE(Eventually([this] { return server_.server().active_calls() == 0; }));
  v1::FetchArrayResponse response;
  while (reader->Read(&response)) {
  }
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(PlacesTest, TheServerSaysWhatIsOn) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server_.stub().GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
  EXPECT_THAT(info.places(), ::testing::IsSupersetOf({"inline", "shared_memory", "stored"}));
  EXPECT_THAT(info.shared_memory_prefixes(), ElementsAre(SharedObject::kPrefix));
}

}  // namespace
}  // namespace corank::testing
