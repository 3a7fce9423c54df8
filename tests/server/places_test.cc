// Arrays in shared memory and arrays kept on the server, over the wire, on the CPU engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "kernels/engine/forwarding_engine.h"
#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"
#include "tests/server/streamed_call.h"

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

class PlacesTest : public ::testing::Test {
 protected:
  PlacesTest() { EXPECT_TRUE(memory_.Register(object_).ok()); }
  ~PlacesTest() override { ExpectAllFreed(server_.server()); }

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
  grpc::Status Store(const std::string& name, const std::vector<int32_t>& values, int64_t chunk_elements = 1000,
                     int64_t announced = -1) {
    return memory_.Store(name, Int32s(values), {chunk_elements, /*sharded=*/false, announced});
  }
  grpc::Status Fetch(const std::string& name, std::vector<int32_t>* values) { return memory_.Fetch(name, values); }

  SharedObject object_{kRegionBytes};
  RunningServer server_{PlacesOptions(), ReachEngine()};
  const MemoryCalls memory_{server_.channel()};
};

TEST_F(PlacesTest, SortReadsAndWritesSharedMemory) {
  std::mt19937 random(7);
  int32_t* const keys = object_.As<int32_t>();
  std::generate_n(keys, 10000, [&random] { return static_cast<int32_t>(random()); });
  std::vector<int32_t> expected(keys, keys + 10000);
  std::stable_sort(expected.begin(), expected.end());
  v1::SortRequest request;
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 10000, 0);
  *request.mutable_keys_destination() = ToRegion(65536);
  v1::SortResponse response;
  const grpc::Status status = Run(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(std::vector<int32_t>(object_.As<int32_t>(65536), object_.As<int32_t>(65536) + 10000), expected);
  EXPECT_EQ(response.keys().shared_memory().region(), "r");
  EXPECT_EQ(response.keys().shared_memory().offset_bytes(), 65536);
  EXPECT_EQ(response.keys().count(), 10000);
  // In place, starting at another element than the first.
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 9999, 4);
  *request.mutable_keys_destination() = ToRegion(4);
  expected.assign(keys + 1, keys + 10000);
  std::stable_sort(expected.begin(), expected.end());
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_EQ(std::vector<int32_t>(keys + 1, keys + 10000), expected);
}

TEST_F(PlacesTest, InputsAndResultsMayBeInDifferentPlaces) {
  std::iota(object_.As<int32_t>(), object_.As<int32_t>() + 4, 0);
  ASSERT_TRUE(Store("evens", {0, 2, 4}).ok());
  v1::MergeRequest request;
  *request.add_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 4, 0);
  *request.add_keys() = Kept("evens");
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
  *request.mutable_counts() = InRegion(v1::ELEMENT_TYPE_INT64, 3, 0);
  v1::ExpandIntervalsResponse response;
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_THAT(Elements<int32_t>(response.values()), ElementsAre(7, 7, 9));
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
  *request.mutable_counts() = Kept("counts", v1::ELEMENT_TYPE_INT64);
  v1::ExpandIntervalsResponse response;
  ASSERT_TRUE(Run(request, &response).ok());
  EXPECT_THAT(Elements<int32_t>(response.values()), ElementsAre(8, 9, 9));
  *sort.mutable_keys() = Int64s({1, -3, 1});
  ASSERT_TRUE(Run(sort, &sorted).ok());
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "counts[0]");
}

TEST(LoopsTest, DoNotWaitForCountsOnADevice) {
  absl::Notification waits, goes_on;
  std::atomic<bool> is_armed{false};
  auto [puppet, engine] = MakePuppet([&](const std::string& phase, OperatorReport*) {
    if (phase == "Finish" && is_armed.exchange(false)) {
      waits.Notify();
      goes_on.WaitForNotification();
    }
    return absl::OkStatus();
  });
  const RunningServer server(PlacesOptions(), std::move(engine));
  const MemoryCalls memory(server.channel());
  ASSERT_TRUE(memory.Store("counts", Int64s({2, 0, 1})).ok());
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = Int32s({7, 8, 9});
  *request.mutable_counts() = Kept("counts", v1::ELEMENT_TYPE_INT64);
  is_armed = true;
  std::thread expanding([&] {
    grpc::ClientContext context;
    v1::ExpandIntervalsResponse response;
    // The copy would be given up after 5 s.
    EXPECT_NE(Call(server.stub(), &context, request, &response).error_code(), grpc::StatusCode::UNAVAILABLE);
  });
  waits.WaitForNotification();
  // On the same connection, and so on the same loop.
  v1::SortRequest sort;
  *sort.mutable_keys() = Int32s({2, 1});
  grpc::ClientContext context;
  v1::SortResponse sorted;
  const grpc::Status status = Call(server.stub(), &context, sort, &sorted);
  EXPECT_TRUE(status.ok()) << status.error_message();
  goes_on.Notify();
  expanding.join();
  ExpectAllFreed(server.server());
}

// How many ended with this code, as the metrics count them.
double Registrations(const Server& server, absl::string_view code) {
  double count = 0;
  for (const prometheus::MetricFamily& family : server.metrics().Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      const auto has = [&metric](absl::string_view value) {
        return std::any_of(metric.label.begin(), metric.label.end(),
                           [&](const auto& one) { return one.value == value; });
      };
      if (has("register_shared_memory") && has(code)) count += metric.counter.value;
    }
  }
  return count;
}

TEST(PinningTest, EndsForItsCallerWithoutTheDriverAndLeavesNothingAfterwards) {
  absl::Notification goes_on;
  std::atomic<bool> hangs{true};
  auto [puppet, engine] = MakePuppet([&](const std::string& phase, OperatorReport*) {
    if (phase == "PinHost" && hangs.exchange(false)) goes_on.WaitForNotification();
    return absl::OkStatus();
  });
  Server::Options options = PlacesOptions();
  options.helpers = 4;  // two for each tenant
  options.memory_call_time = std::chrono::milliseconds(200);
  const RunningServer server(options, std::move(engine));
  const MemoryCalls memory(server.channel());
  const SharedObject object(4096);
  // A slow machine may need longer than the limit for any call.
  const auto becomes = [&memory, &object](const char* region, grpc::StatusCode code) {
    return Eventually([&] { return memory.Register(object, region).error_code() == code; });
  };
  EXPECT_EQ(memory.Register(object, "hangs").error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Eventually([&server] { return Registrations(server.server(), "DEADLINE_EXCEEDED") >= 1; }))
      << "counted as its caller saw it, while the driver still pins";
  EXPECT_TRUE(becomes("hangs", grpc::StatusCode::ALREADY_EXISTS)) << "it may still come";
  EXPECT_TRUE(becomes("other", grpc::StatusCode::OK)) << "by another helper";
  goes_on.Notify();
  EXPECT_TRUE(Eventually([&] { return server.server().regions().region_count() == 1; }));
  EXPECT_TRUE(becomes("hangs", grpc::StatusCode::OK));
}

// Pins the first region quickly and tells when it is gone. The second one takes until the test goes on.
class SlowPins final : public ForwardingEngine {
 public:
  struct Events {
    absl::Notification second_begins, goes_on, first_is_gone;
  };
  SlowPins(std::unique_ptr<Engine> engine, Events* events) : ForwardingEngine(std::move(engine)), events_(events) {}

  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    if (is_first_.exchange(false)) return std::make_unique<First>(h_bytes, bytes, events_);
    events_->second_begins.Notify();
    events_->goes_on.WaitForNotification();
    return ForwardingEngine::PinHost(h_bytes, bytes);
  }

 private:
  class First final : public EngineMemory {
   public:
    First(void* data, int64_t bytes, Events* events) : EngineMemory(data, bytes), events_(events) {}
    ~First() override { events_->first_is_gone.Notify(); }

   private:
    Events* const events_;
  };

  Events* const events_;
  std::atomic<bool> is_first_{true};
};

TEST(PinningTest, OutlivesItsCallAndNotTheRegions) {
  SlowPins::Events events;
  ChosenEngine engine = CpuEngine();
  engine.engine = std::make_unique<SlowPins>(std::move(engine.engine), &events);
  auto server = std::make_unique<RunningServer>(PlacesOptions(), std::move(engine));
  const MemoryCalls memory(server->channel());
  const SharedObject object(4096);
  ASSERT_TRUE(memory.Register(object, "first").ok());
  std::thread caller([&memory, &object] { EXPECT_FALSE(memory.Register(object, "second").ok()); });
  events.second_begins.WaitForNotification();
  server->server().Stop();  // does not wait for the driver
  caller.join();
  std::thread destroyer([&server] { server.reset(); });
  EXPECT_FALSE(events.first_is_gone.WaitForNotificationWithTimeout(absl::Milliseconds(100)))
      << "a helper still needs the regions";
  events.goes_on.Notify();
  destroyer.join();
  EXPECT_TRUE(events.first_is_gone.HasBeenNotified());
}

TEST_F(PlacesTest, StringsUpToALimitGoWhereTheyAreWanted) {
  std::copy_n("bcab\2", 5, object_.As<char>());
  v1::SortRequest request;
  v1::KeyColumn* const column = request.add_key_columns();
  *column->mutable_data() = InRegion(v1::ELEMENT_TYPE_UINT8, 4, 0);
  *column->mutable_offsets() = Int64s({0, 2, 4});
  *column->mutable_validity() = InRegion(v1::ELEMENT_TYPE_UINT8, 1, 4);
  *column->mutable_data_destination() = ToRegion(100);
  *column->mutable_offsets_destination() = KeptAs("offsets");
  *column->mutable_validity_destination() = ToRegion(102);  // behind the string
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
    *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, count, offset);
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
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 1, 0);
  request.mutable_keys()->clear_count();
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys.count");
  *request.mutable_keys() = Int32s({1, 2});
  *request.mutable_keys_destination() = ToRegion(kRegionBytes - 4);
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys_destination.shared_memory.offset_bytes");
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  *request.mutable_keys_destination() = ToRegion(0);
  *request.mutable_indices_destination() = ToRegion(4);
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "indices_destination");
}

TEST_F(PlacesTest, GroupWritesTheElementsOfTheGroupsOnly) {
  std::fill_n(object_.As<int32_t>(), 5, -1);
  v1::GroupRequest request;
  *request.mutable_keys() = Int32s({4, 2, 4, 4, 2});
  *request.mutable_keys_destination() = ToRegion(0);
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
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 1, 0);
  request.mutable_keys()->mutable_shared_memory()->set_region("other");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::NOT_FOUND), "keys.shared_memory.region");
  *request.mutable_keys() = Kept("none");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::NOT_FOUND), "keys.stored.name");
  *request.mutable_keys() = Int32s({1});
  *request.mutable_keys_destination() = KeptAs("no name");
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::INVALID_ARGUMENT), "keys_destination.stored.name");
  ASSERT_TRUE(Store("x", {1}).ok());
  *request.mutable_keys() = Kept("x", v1::ELEMENT_TYPE_FLOAT32);
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
  *request.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 10000, 0);
  EXPECT_EQ(ErrorField(request, grpc::StatusCode::FAILED_PRECONDITION), "keys.shared_memory.region");
  EXPECT_TRUE(memory_.Unregister("r").ok());
}

TEST_F(PlacesTest, ALeaseEndsWithItsCaller) {
  SharedObject other(4096);
  grpc::ClientContext context;
  const auto lease = memory_.stub().OpenLease(&context, v1::OpenLeaseRequest());
  v1::OpenLeaseResponse opened;
  ASSERT_TRUE(lease->Read(&opened));
  ASSERT_TRUE(memory_.Register(other, "leased", 0, opened.lease_id()).ok());
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
  const auto writer = memory_.stub().StoreArray(&context, &response);
  v1::StoreArrayRequest request;
  request.mutable_header()->set_name("x");
  *request.mutable_header()->mutable_array() = Streamed(v1::ELEMENT_TYPE_INT32, 100000, 0);
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
  const MemoryCalls memory(grpc::CreateChannel(server.server().address(), grpc::InsecureChannelCredentials()));
  constexpr int64_t kBytes = 9 << 20, kChunk = 1 << 20;
  std::string bytes;
  for (int64_t first = 0; first < kBytes; first += kChunk) bytes.append(kChunk, static_cast<char>(first / kChunk));
  ASSERT_TRUE(memory.Store("x", MakeArray(v1::ELEMENT_TYPE_UINT8, bytes.data(), bytes.size()), {kChunk}).ok());
  std::string fetched;
  const grpc::Status status = memory.Fetch("x", &fetched);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(fetched == bytes);
}

// A server with a short timeout for stalled callers.
class IdleTransferTest : public ::testing::Test {
 protected:
  ~IdleTransferTest() override { ExpectAllFreed(server_.server()); }  // a server that drains waits for calls
  static Server::Options Options() {
    Server::Options options = PlacesOptions();
    options.arrays.max_bytes = options.arrays.quota_bytes = 64 << 20;
    options.limits.max_chunk_bytes = 1 << 20;
    options.streams.idle_timeout = absl::Milliseconds(200);
    return options;
  }
  RunningServer server_{Options(), ReachEngine()};
  const MemoryCalls memory_{server_.channel()};
};

TEST_F(IdleTransferTest, AStoreThatIsSilentEndsAndLeavesNothing) {
  for (const bool with_header : {false, true}) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::StoreArrayResponse response;
    const auto writer = memory_.stub().StoreArray(&context, &response);
    v1::StoreArrayRequest header;
    header.mutable_header()->set_name("x");
    *header.mutable_header()->mutable_array() = Streamed(v1::ELEMENT_TYPE_INT32, 100000, 0);
    ASSERT_TRUE(!with_header || writer->Write(header));
    const grpc::Status status = writer->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("sent nothing for 200ms"));
    EXPECT_TRUE(Eventually([this] { return server_.server().arrays().used_bytes() == 0; }));
  }
}

TEST_F(IdleTransferTest, AFetchThatIsNotReadEnds) {
  const std::vector<int32_t> values(8 << 20);
  const grpc::Status stored = memory_.Store("x", Int32s(values), {1 << 18});
  ASSERT_TRUE(stored.ok()) << stored.error_message();
  grpc::ClientContext context;
  v1::FetchArrayRequest request;
  request.set_name("x");
  const auto reader = memory_.stub().FetchArray(&context, request);
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
