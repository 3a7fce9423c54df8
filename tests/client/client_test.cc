// The client library against a scripted server: what it sends, accepts and refuses.
#include "corank/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corank/errors.h"
#include "tests/client/local_socket.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Bytes(const std::vector<uint32_t>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(uint32_t));
}

void SetKeys(const std::vector<uint32_t>& keys, v1::Array* array) {
  array->set_type(v1::ELEMENT_TYPE_UINT32);
  array->set_count(static_cast<int64_t>(keys.size()));
  array->set_inline_data(Bytes(keys));
}

class ClientTest : public ::testing::Test {
 protected:
  Client Connect(ClientOptions options = {}) {
    options.address = server_.address();
    absl::StatusOr<Client> client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  PuppetService service_;
  PuppetServer server_{&service_};
};

TEST_F(ClientTest, SendsWhatWasAskedFor) {
  v1::SortRequest seen;
  service_.on_sort = [&](grpc::ServerContext* context, const v1::SortRequest& request, v1::SortResponse* response) {
    seen = request;
    context->AddTrailingMetadata("x-request-id", "r1");
    SetKeys({3, 2}, response->mutable_keys());
    response->mutable_values()->set_type(v1::ELEMENT_TYPE_RECORD);
    response->mutable_values()->set_record_bytes(3);
    response->mutable_values()->set_inline_data("bbbccc");
    response->set_algorithm(v1::SORT_ALGORITHM_RADIX);
    response->mutable_stats()->set_engine(v1::ENGINE_CUDA);
    response->mutable_stats()->set_kernel_ns(77);
    return grpc::Status::OK;
  };
  SortOptions options;
  options.order = Order::kDescending;
  options.algorithm = SortAlgorithm::kOddEvenMergesort;
  options.limit = 2;
  options.offset = 1;
  CallOptions call;
  call.priority = Priority::kHigh;
  call.request_id = "r1";
  const std::vector<uint32_t> keys = {1, 3, 2};
  const std::vector<std::array<char, 3>> values = {{'a', 'a', 'a'}, {'b', 'b', 'b'}, {'c', 'c', 'c'}};
  const auto result = Connect().SortWithValues(keys, values, options, call);
  ASSERT_TRUE(result.ok()) << result.status();

  EXPECT_EQ(seen.keys().type(), v1::ELEMENT_TYPE_UINT32);
  EXPECT_EQ(seen.keys().count(), 3);
  EXPECT_EQ(seen.keys().inline_data(), Bytes(keys));
  EXPECT_EQ(seen.values().type(), v1::ELEMENT_TYPE_RECORD);
  EXPECT_EQ(seen.values().record_bytes(), 3u);
  EXPECT_EQ(seen.values().inline_data(), "aaabbbccc");
  EXPECT_EQ(seen.order(), v1::SORT_ORDER_DESCENDING);
  EXPECT_EQ(seen.algorithm(), v1::SORT_ALGORITHM_ODD_EVEN_MERGESORT);
  EXPECT_EQ(seen.output(), v1::SORT_OUTPUT_KEYS);
  EXPECT_EQ(seen.limit(), 2);
  EXPECT_EQ(seen.offset(), 1);
  EXPECT_FALSE(seen.has_segment_offsets());
  EXPECT_EQ(seen.options().priority(), v1::PRIORITY_HIGH);
  EXPECT_EQ(seen.options().request_id(), "r1");

  EXPECT_THAT(result->keys, ElementsAre(3u, 2u));
  EXPECT_THAT(result->values, ElementsAre(values[1], values[2]));
  EXPECT_EQ(result->algorithm, SortAlgorithm::kRadix);
  EXPECT_EQ(result->stats.engine, "cuda");
  EXPECT_EQ(result->stats.kernel_ns, 77);
  EXPECT_EQ(result->stats.request_id, "r1");
  EXPECT_EQ(result->stats.attempts, 1);
  EXPECT_GT(result->stats.round_trip_ns, 0);
}

TEST_F(ClientTest, ADestinationIsACountOrAnArray) {
  v1::MoveIntervalsRequest seen;
  service_.on_move = [&](grpc::ServerContext*, const v1::MoveIntervalsRequest& request,
                         v1::MoveIntervalsResponse* response) {
    seen = request;
    SetKeys({0, 5}, response->mutable_result());
    return grpc::Status::OK;
  };
  const Client client = Connect();
  const std::vector<uint32_t> source = {5, 6}, old = {8, 9};
  const std::vector<int64_t> from = {0}, to = {1}, counts = {1};
  ASSERT_TRUE(client.MoveIntervals(source, from, to, counts, 2).ok());
  EXPECT_EQ(seen.initial_case(), v1::MoveIntervalsRequest::kDestinationCount);
  EXPECT_EQ(seen.destination_count(), 2);
  EXPECT_EQ(seen.source_offsets().type(), v1::ELEMENT_TYPE_INT64);
  EXPECT_EQ(seen.destination_offsets().inline_data(), std::string("\1\0\0\0\0\0\0\0", 8));
  ASSERT_TRUE(client.MoveIntervals(source, from, to, counts, old).ok());
  EXPECT_EQ(seen.initial_case(), v1::MoveIntervalsRequest::kDestination);
  EXPECT_EQ(seen.destination().inline_data(), Bytes(old));
}

TEST_F(ClientTest, IndicesOfBothWidthsAreRead) {
  const Client client = Connect();
  const std::vector<int16_t> keys = {1, 2};
  service_.on_search = [](grpc::ServerContext*, const v1::SearchRequest& request, v1::SearchResponse* response) {
    EXPECT_EQ(request.bound(), v1::SEARCH_BOUND_UPPER);
    response->mutable_positions()->set_type(v1::ELEMENT_TYPE_UINT64);
    response->mutable_positions()->set_inline_data(std::string("\0\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0", 16));
    return grpc::Status::OK;
  };
  SearchOptions options;
  options.bound = SearchBound::kUpper;
  const auto wide = client.Search(keys, keys, options);
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_THAT(wide->indices, ElementsAre(int64_t{1} << 32, 2));
}

TEST_F(ClientTest, RefusedCallsAreTriedAgainUntilTheyPass) {
  std::atomic<int> calls{0};
  service_.on_sort = [&](grpc::ServerContext*, const v1::SortRequest& request, v1::SortResponse* response) {
    if (++calls < 3) return RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Milliseconds(1));
    *response->mutable_keys() = request.keys();
    return grpc::Status::OK;
  };
  const auto result = Connect().Sort(std::vector<uint32_t>{1});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stats.attempts, 3);
  EXPECT_EQ(calls, 3);
}

TEST_F(ClientTest, ARefusalThatWouldOutlastTheDeadlineIsReportedAtOnce) {
  std::atomic<int> calls{0};
  service_.on_sort = [&](grpc::ServerContext*, const v1::SortRequest&, v1::SortResponse*) {
    ++calls;
    return RetryLater(grpc::StatusCode::UNAVAILABLE, "drains", absl::Hours(1));
  };
  const auto result = Connect().Sort(std::vector<uint32_t>{1});
  EXPECT_TRUE(absl::IsUnavailable(result.status())) << result.status();
  EXPECT_EQ(RetryDelay(result.status()), absl::Hours(1));
  EXPECT_EQ(calls, 1);
}

TEST_F(ClientTest, ErrorsSayFieldAndRequest) {
  service_.on_sort = [](grpc::ServerContext* context, const v1::SortRequest&, v1::SortResponse*) {
    context->AddTrailingMetadata("x-request-id", "abc");
    return InvalidField("limit", "must not be negative");
  };
  const auto result = Connect().Sort(std::vector<uint32_t>{1});
  EXPECT_EQ(result.status().message(), "limit: must not be negative [request abc]");
  EXPECT_EQ(ViolatedField(result.status()), "limit");
}

TEST_F(ClientTest, TheDeadlineOfACallIsKept) {
  service_.on_sort = [](grpc::ServerContext* context, const v1::SortRequest&, v1::SortResponse*) {
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  };
  CallOptions call;
  call.deadline = absl::Milliseconds(200);
  const auto result = Connect().Sort(std::vector<uint32_t>{1}, {}, call);
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
}

TEST_F(ClientTest, DeadlinesOfAnyLengthAreTaken) {
  service_.info = InfoOfAllPlaces();
  service_.on_sort = StandInSort;
  const Client client = Connect();
  ClientOptions options;
  for (const absl::Duration great :
       {absl::Seconds(1e10), absl::Seconds(1e300), absl::Hours(1'000'000'000'000), absl::InfiniteDuration(),
        absl::Seconds(std::numeric_limits<double>::infinity())}) {
    options.deadline = great;
    EXPECT_TRUE(Connect(options).Sort(std::vector<uint32_t>{1}).ok()) << great;
    for (const Place place : {Place::kInline, Place::kStream}) {
      CallOptions call;
      call.deadline = great;
      call.place = place;
      EXPECT_TRUE(client.Sort(std::vector<uint32_t>{1}, {}, call).ok()) << great;
    }
  }
  // A deadline in the past: gRPC takes a time before 1970 for one that never comes.
  service_.on_sort = [](grpc::ServerContext* context, const v1::SortRequest&, v1::SortResponse*) {
    const absl::Time end = absl::Now() + absl::Seconds(30);
    while (!context->IsCancelled() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status(grpc::StatusCode::INTERNAL, "nobody ended the call");
  };
  for (const absl::Duration past :
       {absl::ZeroDuration(), absl::Seconds(-1), absl::Hours(-24) * 365 * 100, -absl::InfiniteDuration()}) {
    for (const Place place : {Place::kInline, Place::kStream}) {
      CallOptions call;
      call.deadline = past;
      call.place = place;
      const auto result = client.Sort(std::vector<uint32_t>{1}, {}, call);
      EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << past << result.status();
    }
  }
}

TEST_F(ClientTest, MalformedAnswersAreInternalErrors) {
  const struct {
    const char* name;
    std::function<void(v1::Array*)> spoil;
    const char* message;
  } cases[] = {
      {"no type", [](v1::Array* keys) { keys->clear_type(); }, "unknown type"},
      {"type of the future", [](v1::Array* keys) { keys->set_type(static_cast<v1::ElementType>(99)); }, "unknown type"},
      {"another type", [](v1::Array* keys) { keys->set_type(v1::ELEMENT_TYPE_INT32); }, "int32, not uint32"},
      {"half an element", [](v1::Array* keys) { keys->set_inline_data("12345"); }, "whole number"},
      {"wrong count", [](v1::Array* keys) { keys->set_count(7); }, "7 elements of 2"},
      {"elsewhere", [](v1::Array* keys) { keys->mutable_stored(); }, "not in the message"},
      {"record of no size", [](v1::Array* keys) { keys->set_type(v1::ELEMENT_TYPE_RECORD); }, "record size"},
  };
  const Client client = Connect();
  for (const auto& c : cases) {
    service_.on_sort = [&c](grpc::ServerContext*, const v1::SortRequest& request, v1::SortResponse* response) {
      *response->mutable_keys() = request.keys();
      c.spoil(response->mutable_keys());
      return grpc::Status::OK;
    };
    const auto result = client.Sort(std::vector<uint32_t>{1, 2});
    EXPECT_TRUE(absl::IsInternal(result.status())) << c.name << ": " << result.status();
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(c.message)) << c.name;
  }
  service_.on_sort = [](grpc::ServerContext*, const v1::SortRequest&, v1::SortResponse*) { return grpc::Status::OK; };
  EXPECT_TRUE(absl::IsInternal(client.Sort(std::vector<uint32_t>{1}).status()));
  EXPECT_TRUE(absl::IsInternal(client.Argsort(std::vector<uint32_t>{1}).status()));
}

TEST_F(ClientTest, WhatNoMessageHoldsIsRefusedHere) {
  service_.on_sort = [](grpc::ServerContext*, const v1::SortRequest&, v1::SortResponse*) {
    ADD_FAILURE() << "the request was sent";
    return grpc::Status::OK;
  };
  ClientOptions options;
  options.max_message_bytes = 100;
  const Client client = Connect(options);
  for (const size_t count : {25u, 26u}) {  // over the limit with the other fields, and by the payload alone
    const auto result = client.Sort(std::vector<uint32_t>(count));
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("at most 100 bytes"));
  }
  SortRequest torn;
  torn.keys = {KeyType::kUint32, "12345"};
  EXPECT_THAT(std::string(client.Sort(torn).status().message()), HasSubstr("keys: 5 bytes are not a whole number"));
}

TEST_F(ClientTest, AResultThatIsElsewhereIsNotTakenForAnEmptyOne) {
  const Array placed = {KeyType::kUint32, "", 1000};
  EXPECT_TRUE(absl::IsFailedPrecondition(ToIndices(placed).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(ToVector<uint32_t>(placed).status()));
  SortRequest request;
  request.keys = placed.view();
  const Client client = Connect();
  for (const absl::Status& status : {client.Sort(request).status(), client.Store("a", placed.view()).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("went to its Output"));
  }
}

TEST(ClientCreate, ChecksItsOptions) {
  ClientOptions options;
  options.address = "";
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create(options).status()));
  options = {};
  options.keepalive_timeout = absl::ZeroDuration();
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create(options).status()));
  options = {};
  options.deadline = absl::ZeroDuration();
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create(options).status()));
  options = {};
  options.max_message_bytes = int64_t{1} << 31;
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create(options).status()));
  options = {};
  options.retry.max_attempts = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create(options).status()));
}

TEST(ClientCreate, NobodyAtTheAddressIsUnavailableAndSaysSo) {
  ClientOptions options;
  {
    PuppetService service;
    options.address = PuppetServer(&service).address();  // nobody listens there any more
  }
  const absl::StatusOr<Client> client = Client::Create(options);
  ASSERT_TRUE(client.ok());
  const auto info = client->GetServerInfo();
  EXPECT_TRUE(absl::IsUnavailable(info.status())) << info.status();
  EXPECT_THAT(std::string(info.status().message()), HasSubstr("no corank server answers at " + options.address));
}

TEST(ClientCreate, AServerThatNeverSpeaksIsTheDeadlineAndSaysSo) {
  const testing::LocalSocket silent(/*listens=*/true);
  ClientOptions options;
  options.address = silent.address();
  options.deadline = absl::Milliseconds(200);
  const auto info = Client::Create(options)->GetServerInfo();
  EXPECT_TRUE(absl::IsDeadlineExceeded(info.status())) << info.status();
  EXPECT_THAT(std::string(info.status().message()), HasSubstr("before there was a connection to " + options.address));
}

TEST(Float16, HasTheValueOfItsBits) {
  const struct {
    uint16_t bits;
    float value;
  } cases[] = {{0x0000, 0.0f},        {0x3C00, 1.0f},          {0xC000, -2.0f},         {0x7BFF, 65504.0f},
               {0x3555, 0.33325195f}, {0x0001, 5.9604645e-8f}, {0x0400, 6.1035156e-5f}, {0xFC00, -INFINITY}};
  for (const auto& c : cases) EXPECT_EQ(Float16{c.bits}.ToFloat(), c.value) << c.bits;
  EXPECT_TRUE(std::isnan(Float16{0x7E01}.ToFloat()));
  EXPECT_TRUE(std::signbit(Float16{0x8000}.ToFloat()));
  EXPECT_EQ(Bfloat16{0x3FC0}.ToFloat(), 1.5f);
  EXPECT_EQ(Bfloat16{0xFF80}.ToFloat(), -INFINITY);
}

TEST(ElementTypes, FollowFromTheTypesOfTheLanguage) {
  EXPECT_EQ(ElementTypeOf<signed char>(), ElementType(KeyType::kInt8));
  EXPECT_EQ(ElementTypeOf<long long>(), ElementType(KeyType::kInt64));
  EXPECT_EQ(ElementTypeOf<unsigned short>(), ElementType(KeyType::kUint16));
  EXPECT_EQ(ElementTypeOf<Bfloat16>(), ElementType(KeyType::kBfloat16));
  EXPECT_EQ(ElementTypeOf<double>(), ElementType(KeyType::kFloat64));
  struct Row {
    char bytes[12];
  };
  EXPECT_EQ(ElementTypeOf<Row>(), ElementType::Record(12));
  EXPECT_EQ(ElementTypeOf<Row>().Name(), "record of 12 bytes");
  EXPECT_NE(ElementType::Record(4), ElementType(KeyType::kUint32));
  __extension__ using Wide = __int128;  // -std=gnu++17 counts it as an integer
  EXPECT_EQ(ElementTypeOf<Wide>(), ElementType::Record(16));
}

}  // namespace
}  // namespace corank::client
