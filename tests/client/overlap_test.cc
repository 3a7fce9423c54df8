// Results that overwrite memory which the same call reads. Servers respond while they still read, or break off in the
// middle of a response. No input may change before the whole response has arrived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "corank/client.h"
#include "tests/client/puppet_memory.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"
#include "tests/client/virtual_clock.h"

namespace corank::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr uint32_t kWritten = 0x78787878;  // the doubles respond with it first

class OverlapTest : public ::testing::Test {
 protected:
  OverlapTest() {
    service_.info = InfoOfAllPlaces();
    service_.on_sort = StandInSort;
    options_.address = server_.address();
    options_.place = Place::kStream;
    options_.connections = 1;
    options_.retry.budget_tokens = 0;
    options_.retry.clock = std::make_shared<VirtualClock>(0.0);
  }

  Client Connect() {
    absl::StatusOr<Client> client = Client::Create(options_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static v1::ExecuteResponse Chunk(uint32_t stream_id, size_t first, size_t count) {
    v1::ExecuteResponse response;
    response.mutable_chunk()->set_stream_id(stream_id);
    response.mutable_chunk()->set_first_element(static_cast<int64_t>(first));
    response.mutable_chunk()->set_data(std::string(count * sizeof(kWritten), 'x'));
    return response;
  }
  static void Describe(size_t count, v1::Array* array) {
    array->set_type(v1::ELEMENT_TYPE_UINT32);
    array->set_count(static_cast<int64_t>(count));
  }

  const grpc::Status lost_{grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  const grpc::Status full_ = RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Milliseconds(1));
  ClientOptions options_;
  PuppetMemory memory_;
  PuppetService service_;
  PuppetServer server_{&service_, &memory_};
};

TEST_F(OverlapTest, AMergeOverItsInputsSendsThemAsTheyWere) {
  constexpr size_t kCount = size_t{2} << 20, kChunk = size_t{1} << 14;
  std::map<uint32_t, std::string> received;
  service_.on_execute = [&received](grpc::ServerContext*, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    EXPECT_TRUE(stream->Read(&request));
    for (size_t first = 0; first < kCount; first += kChunk) stream->Write(Chunk(0, first, kChunk));
    while (stream->Read(&request)) received[request.chunk().stream_id()] += request.chunk().data();
    v1::ExecuteResponse response;
    Describe(kCount, response.mutable_result()->mutable_merge()->mutable_keys());
    stream->Write(response);
    return grpc::Status::OK;
  };
  std::vector<uint32_t> keys(kCount);
  std::iota(keys.begin(), keys.end(), 0);
  const std::vector<uint32_t> before = keys;
  const absl::Span<uint32_t> first = absl::MakeSpan(keys).first(kCount / 2),
                             second = absl::MakeSpan(keys).last(kCount / 2);
  MergeRequest merge;
  merge.keys = {ViewOf(first), ViewOf(second)};
  merge.keys_output = Into(keys);
  const auto merged = Connect().Merge(merge);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_TRUE(FromBytes<uint32_t>(received[0] + received[1]) == before) << "the server read what it had written";
  EXPECT_THAT(keys, Each(kWritten));
}

TEST_F(OverlapTest, AnAnswerThatIsNotWholeChangesNoInput) {
  service_.on_execute = [](grpc::ServerContext*, ExecuteStream* stream) {
    v1::ExecuteRequest request;
    while (stream->Read(&request)) continue;
    stream->Write(Chunk(0, 0, 4));
    stream->Write(Chunk(1, 0, 3));  // 3 of 4 elements
    v1::ExecuteResponse response;
    Describe(4, response.mutable_result()->mutable_sort()->mutable_keys());
    Describe(4, response.mutable_result()->mutable_sort()->mutable_values());
    stream->Write(response);
    return grpc::Status::OK;
  };
  std::vector<uint32_t> keys = {4, 3, 2, 1}, values = {1, 2, 3, 4};
  SortRequest sort;
  sort.keys = ViewOf(keys);
  sort.values = ViewOf(values);
  sort.keys_output = Into(keys);
  sort.values_output = Into(values);
  const auto sorted = Connect().Sort(sort);
  EXPECT_TRUE(absl::IsInternal(sorted.status())) << sorted.status();
  EXPECT_THAT(keys, ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4));
}

TEST_F(OverlapTest, AChainThatIsBrokenOffAfterAResultIsSentAgainAsItWas) {
  std::atomic<int> calls{0};
  uint32_t answered = 0;  // the operator whose result precedes the break
  service_.on_execute = [&](grpc::ServerContext* context, ExecuteStream* stream) {
    if (++calls > 1) return service_.execute.Serve(context, stream);
    v1::ExecuteRequest request;
    while (stream->Read(&request)) continue;
    stream->Write(Chunk(answered, 0, 4));
    return lost_;
  };
  for (const uint32_t over : {0, 1}) {
    SCOPED_TRACE(over);
    answered = over;
    calls = 0;
    std::vector<uint32_t> keys[] = {{8, 7, 6, 5}, {4, 3, 2, 1}};
    SortRequest sorts[2];
    for (const uint32_t i : {0, 1}) sorts[i].keys = ViewOf(keys[i]);
    sorts[over].keys_output = Into(keys[1 - over]);  // an input of the other operator
    const auto results = Connect().Run({sorts[0], sorts[1]});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(calls, 2);
    const std::vector<uint32_t> sorted[] = {{5, 6, 7, 8}, {1, 2, 3, 4}};
    EXPECT_EQ(keys[1 - over], sorted[over]);
    EXPECT_EQ(*ToVector<uint32_t>((*results)[1 - over].arrays[0]), sorted[1 - over]) << "of what was written before";
  }
}

TEST_F(OverlapTest, AChainIsNotTriedAgainWhoseResultInARegionGoesOverAnInputOfAnotherOperator) {
  std::atomic<int> calls{0};
  service_.on_execute = [&](grpc::ServerContext*, ExecuteStream*) {
    ++calls;
    return full_;
  };
  const Client client = Connect();
  const auto memory = SharedMemory::Create(1024, "/corank-puppet-");
  ASSERT_TRUE(client.Register(*memory).ok());
  absl::Span<uint32_t> from = memory->span<uint32_t>(0, 4), to = memory->span<uint32_t>(256, 4);
  const struct {
    const char* name;
    int64_t offset;  // of the second operator's input
    bool is_tried;
  } cases[] = {{"over one key", 268, false}, {"beside", 272, true}};
  for (const auto& c : cases) {
    calls = 0;
    SortRequest first, second;
    first.keys = ViewOf(from);
    first.keys_output = Into(to);
    const absl::Span<uint32_t> read = memory->span<uint32_t>(c.offset, 4);
    second.keys = ViewOf(read);
    const absl::Status status = client.Run({first, second}).status();
    EXPECT_EQ(calls, c.is_tried ? 6 : 1) << c.name << ": " << status;
    EXPECT_EQ(absl::StrContains(status.message(), "its results go over its inputs"), !c.is_tried) << status;
  }
}

TEST_F(OverlapTest, TheServerDoesNotWriteOverAnInputThatIsSent) {
  const Client client = Connect();
  const auto memory = SharedMemory::Create(1024, "/corank-puppet-");
  ASSERT_TRUE(client.Register(*memory).ok());
  const std::vector<uint32_t> keys = {4, 3, 2, 1};
  char* const odd = memory->data() + 2;  // misaligned for the server
  std::copy_n(ToBytes(keys).data(), 16, odd);
  absl::Span<uint32_t> sorted = memory->span<uint32_t>(0, 4);
  SortRequest sort;
  sort.keys = {KeyType::kUint32, absl::string_view(odd, 16)};
  sort.keys_output = Into(sorted);
  const auto answer = client.Sort(sort);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(sorted, ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(service_.execute.plans().at(0).operations(0).sort().keys_destination().has_stream());
}

}  // namespace
}  // namespace corank::client
