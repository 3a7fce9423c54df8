// Arrays in chunks: what the client sends, over how many connections, and how it handles responses in chunks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/chunks.h"
#include "client/cpp/stream_results.h"
#include "corank/client.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"

namespace corank::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() {
    service_.info = InfoOfAllPlaces();
    service_.on_sort = StandInSort;
  }

  Client Connect(ClientOptions options = {}) {
    options.address = server_.address();
    absl::StatusOr<Client> client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static CallOptions Streamed(int connections = 1) {
    CallOptions call;
    call.place = Place::kStream;
    call.connections = connections;
    return call;
  }
  static std::vector<uint32_t> Keys(size_t count, uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::vector<uint32_t> keys(count);
    for (uint32_t& key : keys) key = random() % 5000;
    return keys;
  }

  PuppetService service_;
  PuppetServer server_{&service_};
};

TEST_F(StreamTest, SortsKeysValuesAndIndicesOverAnyNumberOfConnections) {
  const Client client = Connect();
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1023}, size_t{1024}, size_t{1025}, size_t{20'000}}) {
    for (const int connections : {1, 2, 3, 8}) {
      SCOPED_TRACE(absl::StrCat(count, " keys, ", connections, " connections"));
      const std::vector<uint32_t> keys = Keys(count, static_cast<uint32_t>(count));
      std::vector<std::array<char, 12>> rows(count);
      for (size_t i = 0; i < count; ++i) std::memcpy(rows[i].data(), &i, sizeof(i));
      const std::vector<uint32_t> order = StableOrder(keys);
      const auto sorted = client.SortWithValues(keys, rows, {}, Streamed(connections));
      ASSERT_TRUE(sorted.ok()) << sorted.status();
      EXPECT_EQ(ToBytes(sorted->keys), Gathered(ToBytes(keys), 4, order));
      EXPECT_EQ(ToBytes(sorted->values), Gathered(ToBytes(rows), 12, order));
      EXPECT_EQ(sorted->stats.place, Place::kStream);
      EXPECT_EQ(sorted->stats.connections, connections);
      const auto indices = client.Argsort(keys, {}, Streamed(connections));
      ASSERT_TRUE(indices.ok()) << indices.status();
      EXPECT_EQ(indices->indices, std::vector<int64_t>(order.begin(), order.end()));
    }
  }
  EXPECT_EQ(service_.unary_calls, 0);
  EXPECT_LE(service_.execute.largest_chunk(), 4096);
  EXPECT_EQ(service_.execute.peers().size(), 8u);
}

TEST_F(StreamTest, ThePartsOfAJobNameItAndSendARangeEach) {
  const Client client = Connect();
  ASSERT_TRUE(client.Sort(Keys(10'000), {}, Streamed(1)).ok());
  ASSERT_TRUE(client.Sort(Keys(10'000), {}, Streamed(3)).ok());
  const std::vector<v1::Plan> plans = service_.execute.plans();
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_TRUE(plans[0].job_id().empty());
  EXPECT_LE(plans[0].parts(), 1u);
  std::vector<int> parts;
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_FALSE(plans[i].job_id().empty());
    EXPECT_EQ(plans[i].job_id(), plans[1].job_id());
    EXPECT_EQ(plans[i].parts(), 3u);
    EXPECT_EQ(plans[i].operations(0).SerializeAsString(), plans[1].operations(0).SerializeAsString());
    parts.push_back(static_cast<int>(plans[i].part()));
  }
  EXPECT_THAT(parts, ::testing::UnorderedElementsAre(0, 1, 2));
  const v1::SortRequest& sort = plans[0].operations(0).sort();
  EXPECT_TRUE(sort.keys().has_stream());
  EXPECT_EQ(sort.keys().count(), 10'000);
  EXPECT_TRUE(sort.keys_destination().has_stream());
}

TEST_F(StreamTest, CallsThatAreTooLargeForAMessageAreStreamedByThemselves) {
  ClientOptions options;
  options.stream_bytes = 300'000;
  const Client client = Connect(options);
  CallOptions call;
  ASSERT_TRUE(client.Sort(Keys(10), {}, call).ok());
  EXPECT_EQ(service_.info_calls, 0);
  const auto small = client.Sort(Keys(75'000), {}, call);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->stats.place, Place::kInline);
  const auto large = client.Sort(Keys(75'001), {}, call);
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(large->stats.place, Place::kStream);
  EXPECT_EQ(large->stats.connections, 1);
  EXPECT_EQ(service_.info_calls, 1);
  call.place = Place::kInline;
  EXPECT_EQ(client.Sort(Keys(75'001), {}, call)->stats.place, Place::kInline);

  const auto over = Connect().Sort(Keys((1 << 20) / 4));  // the server's limit, exceeded by the other fields
  ASSERT_TRUE(over.ok()) << over.status();
  EXPECT_EQ(over->stats.place, Place::kStream);
}

TEST_F(StreamTest, AServerWithoutStreamsIsNotAskedForThem) {
  service_.info->clear_places();
  const auto sorted = Connect().Sort(Keys(1 << 18));
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->stats.place, Place::kInline);
  EXPECT_TRUE(absl::IsUnimplemented(Connect().Sort(Keys(1), {}, Streamed()).status()));
}

TEST_F(StreamTest, MergesMoreArraysThanThereAreStreams) {
  service_.on_merge = [](grpc::ServerContext*, const v1::MergeRequest& request, v1::MergeResponse* response) {
    std::vector<std::pair<uint32_t, uint8_t>> rows;
    for (int i = 0; i < request.keys_size(); ++i) {
      const auto keys = FromBytes<uint32_t>(request.keys(i).inline_data());
      for (size_t j = 0; j < keys.size(); ++j) rows.emplace_back(keys[j], request.values(i).inline_data()[j]);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint32_t> keys;
    std::vector<uint8_t> values;
    for (const auto& [key, value] : rows) {
      keys.push_back(key);
      values.push_back(value);
    }
    *response->mutable_keys() = request.keys(0);
    response->mutable_keys()->set_inline_data(ToBytes(keys));
    *response->mutable_values() = request.values(0);
    response->mutable_values()->set_inline_data(ToBytes(values));
    return grpc::Status::OK;
  };
  std::vector<std::vector<uint32_t>> keys;
  std::vector<std::vector<uint8_t>> values;
  std::vector<std::pair<uint32_t, uint8_t>> rows;
  for (uint32_t i = 0; i < 600; ++i) {
    keys.push_back(Keys(i % 7, i));
    std::sort(keys.back().begin(), keys.back().end());
    values.emplace_back(keys.back().size(), static_cast<uint8_t>(i));
    for (const uint32_t key : keys.back()) rows.emplace_back(key, static_cast<uint8_t>(i));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto merged = Connect().MergeWithValues(keys, values, {}, Streamed(2));
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_EQ(merged->keys.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(merged->keys[i], rows[i].first) << i;
    ASSERT_EQ(merged->values[i], rows[i].second) << i;
  }
}

TEST_F(StreamTest, ArraysThatFitNeitherTheStreamsNorThePlanAreRefusedHere) {
  const std::vector<std::vector<uint32_t>> keys(600, std::vector<uint32_t>(8000));
  const std::vector<std::vector<uint8_t>> values(600, std::vector<uint8_t>(8000));  // 176 of them in 1 MiB
  const absl::Status status = Connect().MergeWithValues(keys, values, {}, Streamed(2)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1200 arrays, of which 1024 travel as streams; the other 176 have 1408000 bytes, more than a "
                        "message to this server holds (1048576 bytes): make several calls of it"));
  EXPECT_EQ(service_.execute_calls, 0);
}

TEST_F(StreamTest, OffsetsAndCountsGoBeforeTheSource) {
  std::vector<uint32_t> streams;
  service_.on_execute = [&streams](grpc::ServerContext*, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    EXPECT_TRUE(stream->Read(&request));
    const v1::GatherIntervalsRequest gather = request.plan().operations(0).gather_intervals();
    const std::vector<uint32_t> wanted = {gather.source_offsets().stream().stream_id(),
                                          gather.counts().stream().stream_id(), gather.source().stream().stream_id()};
    while (stream->Read(&request)) {
      for (uint32_t i = 0; i < 3; ++i) {
        if (wanted[i] == request.chunk().stream_id()) streams.push_back(i);
      }
    }
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "enough seen");
  };
  const std::vector<int64_t> offsets(1000), counts(1000);
  const auto gathered = Connect().GatherIntervals(Keys(3000), offsets, counts, Streamed());
  EXPECT_THAT(std::string(gathered.status().message()), HasSubstr("enough seen"));
  ASSERT_EQ(streams.size(), 7u);
  EXPECT_TRUE(std::all_of(streams.begin(), streams.begin() + 4, [](uint32_t i) { return i < 2; }));
  EXPECT_TRUE(std::all_of(streams.begin() + 4, streams.end(), [](uint32_t i) { return i == 2; }));
}

// The server reads no chunk until the whole response is sent: the client must read while it sends.
TEST_F(StreamTest, AnswersAreReadWhileChunksAreStillSent) {
  constexpr int64_t kCount = int64_t{2} << 20;
  service_.on_execute = [](grpc::ServerContext*, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    EXPECT_TRUE(stream->Read(&request));
    v1::ExecuteResponse response;
    const std::string data(1 << 16, 'x');
    for (int64_t first = 0; first < kCount; first += 1 << 14) {
      response.mutable_chunk()->set_first_element(first);
      response.mutable_chunk()->set_data(data);
      EXPECT_TRUE(stream->Write(response));
    }
    while (stream->Read(&request)) continue;
    v1::Array* keys = response.mutable_result()->mutable_sort()->mutable_keys();
    keys->set_type(v1::ELEMENT_TYPE_UINT32);
    keys->set_count(kCount);
    stream->Write(response);
    return grpc::Status::OK;
  };
  const auto sorted = Connect().Sort(std::vector<uint32_t>(kCount), {}, Streamed());
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->keys, std::vector<uint32_t>(kCount, 0x78787878));
}

TEST_F(StreamTest, AServerThatDoesNotReadHoldsTheClientBack) {
  TransferProgress progress;
  constexpr int64_t kBytes = int64_t{64} << 20;
  service_.on_execute = [&progress](grpc::ServerContext* context, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    EXPECT_TRUE(stream->Read(&request));
    int64_t before = -1;
    while (progress.bytes_sent != before && !context->IsCancelled()) {  // until it stalls
      before = progress.bytes_sent;
      absl::SleepFor(absl::Milliseconds(300));
    }
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "that was all");
  };
  CallOptions call = Streamed();
  call.progress = &progress;
  const auto sorted = Connect().Sort(std::vector<uint32_t>(kBytes / 4), {}, call);
  EXPECT_THAT(std::string(sorted.status().message()), HasSubstr("that was all"));
  EXPECT_EQ(progress.bytes_to_send, kBytes);
  EXPECT_LT(progress.bytes_sent, kBytes / 2);
}

TEST_F(StreamTest, CancelAndDeadlineEndACallInMidStream) {
  std::atomic<int> open{0};
  service_.on_execute = [&open](grpc::ServerContext* context, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(stream->Read(&request));
    ++open;
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    --open;
    return grpc::Status::CANCELLED;
  };
  const Client client = Connect();
  const std::vector<uint32_t> keys(int64_t{4} << 20);
  for (const int connections : {1, 3}) {
    Cancellation cancellation;
    CallOptions call = Streamed(connections);
    call.cancellation = &cancellation;
    std::thread canceller([&] {
      while (open < connections) absl::SleepFor(absl::Milliseconds(1));
      cancellation.Cancel();
    });
    EXPECT_TRUE(absl::IsCancelled(client.Sort(keys, {}, call).status()));
    canceller.join();
    EXPECT_TRUE(absl::IsCancelled(client.Sort(keys, {}, call).status())) << "a call that begins after Cancel";

    call = Streamed(connections);
    call.deadline = absl::Milliseconds(300);
    EXPECT_TRUE(absl::IsDeadlineExceeded(client.Sort(keys, {}, call).status()));
    while (open > 0) absl::SleepFor(absl::Milliseconds(1));
  }
}

TEST_F(StreamTest, CallsAtTheSameTimeDoNotDisturbEachOther) {
  const Client client = Connect();
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&client, i] {
      for (uint32_t j = 0; j < 20; ++j) {
        std::vector<uint32_t> keys = Keys(1 + 150 * i * j, j);
        const auto sorted = client.Sort(keys, {}, Streamed(1 + static_cast<int>((i + j) % 3)));
        ASSERT_TRUE(sorted.ok()) << sorted.status();
        std::sort(keys.begin(), keys.end());
        EXPECT_EQ(sorted->keys, keys);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(StreamTest, IsTriedAgainAlsoInMidAnswerAndOverItsInput) {
  std::atomic<int> calls{0};
  bool answers_first = false;
  service_.on_execute = [&](grpc::ServerContext* context, ExecuteStream* stream) {
    if (++calls >= 3) return service_.execute.Serve(context, stream);
    v1::ExecuteRequest request;
    while (stream->Read(&request)) {  // a client with an error response still sends everything
    }
    v1::ExecuteResponse response;
    response.mutable_chunk()->set_data("1234");
    if (answers_first) stream->Write(response);
    return RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Milliseconds(1));
  };
  const Client client = Connect();
  for (const bool in_mid_answer : {false, true}) {
    answers_first = in_mid_answer;
    calls = 0;
    const auto sorted = client.Sort(std::vector<uint32_t>{2, 1}, {}, Streamed());
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_THAT(sorted->keys, ElementsAre(1, 2));
    EXPECT_EQ(sorted->stats.attempts, 3);

    calls = 0;
    std::vector<uint32_t> keys = {2, 1};
    const auto in_place = client.SortInto(keys, absl::MakeSpan(keys), {}, Streamed());
    ASSERT_TRUE(in_place.ok()) << in_place.status();
    EXPECT_THAT(keys, ElementsAre(1, 2));
    EXPECT_EQ(in_place->attempts, 3);
  }
}

TEST_F(StreamTest, AJobThatLostAPartIsRunAgainAsAWhole) {
  std::atomic<int> calls{0};
  service_.on_execute = [&](grpc::ServerContext* context, ExecuteStream* stream) {
    if (++calls <= 2) return PartLost("CALLER_CANCELLED");  // both parts of the first try
    return service_.execute.Serve(context, stream);
  };
  const auto sorted = Connect().Sort(std::vector<uint32_t>{2, 1}, {}, Streamed(2));
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_THAT(sorted->keys, ElementsAre(1, 2));
  EXPECT_GE(sorted->stats.attempts, 2) << "one more if the client cancelled the other part before it came";
}

TEST_F(StreamTest, TheErrorOfOnePartIsTheJobsAndEndsTheOthers) {
  service_.on_execute = [](grpc::ServerContext* context, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;  // the other part's error was faster
    if (request.plan().part() == 2) {
      context->AddTrailingMetadata("x-request-id", "p2");
      return InvalidField("keys", "spoilt");
    }
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  };
  const auto sorted = Connect().Sort(Keys(100'000), {}, Streamed(4));
  EXPECT_EQ(sorted.status().message(), "keys: spoilt [request p2]");
}

TEST_F(StreamTest, MalformedAnswersAreInternalErrors) {
  using Messages = std::vector<v1::ExecuteResponse>;
  const auto chunk = [](uint32_t id, int64_t first, const std::string& data) {
    v1::ExecuteResponse response;
    response.mutable_chunk()->set_stream_id(id);
    response.mutable_chunk()->set_first_element(first);
    response.mutable_chunk()->set_data(data);
    return response;
  };
  const auto result = [](v1::ElementType type, int64_t count) {
    v1::ExecuteResponse response;
    response.mutable_result()->mutable_sort()->mutable_keys()->set_type(type);
    response.mutable_result()->mutable_sort()->mutable_keys()->set_count(count);
    return response;
  };
  v1::ExecuteResponse other_operator, no_keys;
  other_operator.mutable_result()->mutable_merge();
  no_keys.mutable_result()->mutable_sort();
  const v1::ExecuteResponse good = result(v1::ELEMENT_TYPE_UINT32, 2);
  const struct {
    Messages messages;
    const char* message;
  } cases[] = {
      {{chunk(1, 0, "12345678"), good}, "which the request does not name"},
      {{chunk(0, 0, "123456"), good}, "not a whole number"},
      {{chunk(0, 1, "12345678"), good}, "beyond the end"},
      {{chunk(0, -1, "1234"), good}, "beyond the end"},
      {{chunk(0, int64_t{1} << 62, "1234"), good}, "beyond the end"},
      {{chunk(0, 0, "12345678"), chunk(0, 1, "1234"), good}, "overlaps"},
      {{chunk(0, 1, "1234"), good}, "incomplete"},
      {{chunk(0, 0, "1234"), good}, "incomplete"},
      {{good}, "incomplete"},
      {{chunk(0, 0, "12345678"), result(v1::ELEMENT_TYPE_UINT32, 1)}, "1 elements of 2"},
      {{chunk(0, 0, "12345678"), result(v1::ELEMENT_TYPE_UINT32, -1)}, "-1 elements of 2"},
      {{chunk(0, 0, "12345678"), result(v1::ELEMENT_TYPE_UINT64, 1)}, "uint64, not uint32"},
      {{chunk(0, 0, "12345678"), result(v1::ELEMENT_TYPE_INT32, 2)}, "int32, not uint32"},
      {{chunk(0, 0, "12345678"), no_keys}, "without keys"},
      {{chunk(0, 0, "12345678"), other_operator}, "belongs to no operator"},
      {{chunk(0, 0, "12345678"), good, good}, "belongs to no operator"},
      {{chunk(0, 0, "12345678")}, "without all results"},
  };
  const Client client = Connect();
  for (const auto& c : cases) {
    service_.on_execute = [&c](grpc::ServerContext*, ExecuteStream* stream) {
      v1::ExecuteRequest request;
      while (stream->Read(&request)) continue;
      for (const v1::ExecuteResponse& message : c.messages) stream->Write(message);
      return grpc::Status::OK;
    };
    const auto sorted = client.Sort(std::vector<uint32_t>{2, 1}, {}, Streamed());
    EXPECT_TRUE(absl::IsInternal(sorted.status())) << c.message << ": " << sorted.status();
    EXPECT_THAT(std::string(sorted.status().message()), HasSubstr(c.message));
  }
}

TEST(ChunkSource, PartsCoverEveryArrayOnceInOrderAndSideBySide) {
  const std::string keys(4 * 1001, 'k'), rows(6 * 501, 'r'), offsets(8 * 11, 'o');
  const std::vector<ChunkedArray> arrays = {{0, 4, keys, false}, {1, 6, rows, false}, {2, 8, offsets, true}};
  for (const int parts : {1, 2, 3, 64}) {
    std::vector<int64_t> next(3, 0);
    for (int part = 0; part < parts; ++part) {
      ChunkSource source(arrays, part, parts, 100);
      bool was_other = false;
      for (std::optional<Chunk> chunk = source.Next(); chunk.has_value(); chunk = source.Next()) {
        const ChunkedArray& array = arrays[chunk->stream_id];
        EXPECT_EQ(chunk->first_element, next[chunk->stream_id]);
        EXPECT_EQ(chunk->bytes.data(), array.bytes.data() + chunk->first_element * array.element_bytes);
        EXPECT_FALSE(chunk->bytes.empty());
        EXPECT_LE(chunk->bytes.size(), 100u);
        EXPECT_EQ(chunk->bytes.size() % static_cast<size_t>(array.element_bytes), 0u);
        next[chunk->stream_id] += static_cast<int64_t>(chunk->bytes.size()) / array.element_bytes;
        EXPECT_FALSE(array.goes_first && was_other);
        was_other = was_other || !array.goes_first;
        if (parts == 1) {
          EXPECT_LT(std::abs(static_cast<double>(next[0]) / 1001 - static_cast<double>(next[1]) / 501), 0.06);
        }
      }
    }
    EXPECT_THAT(next, ElementsAre(1001, 501, 11)) << parts;
  }
}

TEST(ChunkSource, AnElementLargerThanAChunkGoesAlone) {
  const std::string rows(256 * 2, 'r');
  ChunkSource source({{7, 256, rows, false}}, 0, 1, 100);
  EXPECT_EQ(source.Next()->bytes.size(), 256u);
  EXPECT_EQ(source.Next()->first_element, 1);
  EXPECT_FALSE(source.Next().has_value());
}

TEST(Coverage, KnowsWhatHasCome) {
  Coverage coverage;
  EXPECT_TRUE(coverage.IsWhole(0));
  EXPECT_TRUE(coverage.Add(0, 0));
  EXPECT_TRUE(coverage.Add(10, 20));
  EXPECT_FALSE(coverage.IsWhole(20));
  EXPECT_TRUE(coverage.Add(0, 5));
  for (const auto& [begin, end] :
       std::vector<std::pair<int64_t, int64_t>>{{4, 6}, {9, 11}, {19, 21}, {12, 13}, {0, 20}}) {
    EXPECT_FALSE(coverage.Add(begin, end)) << begin;
  }
  EXPECT_TRUE(coverage.Add(5, 10));
  EXPECT_TRUE(coverage.IsWhole(20));
  EXPECT_FALSE(coverage.IsWhole(19));
  EXPECT_FALSE(coverage.IsWhole(0));
}

}  // namespace
}  // namespace corank::client
