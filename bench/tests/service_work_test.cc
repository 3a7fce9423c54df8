#include <gmock/gmock.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/service/inline_work.h"
#include "bench/service/keys.h"
#include "bench/service/stages.h"
#include "bench/service/stream_client.h"
#include "bench/service/stream_work.h"
#include "corank/v1/corank_service.pb.h"

namespace corank::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

template <typename Message>
grpc::ByteBuffer Serialized(const Message& message) {
  const grpc::Slice bytes(message.SerializeAsString());
  return grpc::ByteBuffer(&bytes, 1);
}

v1::SortResponse PairsAnswer(const InlineWork& work) {
  v1::SortResponse response;
  response.mutable_keys()->set_inline_data(work.results[0]);
  response.mutable_values()->set_inline_data(work.results[1]);
  return response;
}

TEST(IsAnswer, TakesTheRightArraysInAnyCutOfTheMessage) {
  const InlineWork work = MakeInlineWork(InlineOperator::kSortPairs, 100);
  const std::string bytes = PairsAnswer(work).SerializeAsString();
  for (const size_t cut : {size_t{1}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1}) {
    const grpc::Slice slices[] = {grpc::Slice(bytes.substr(0, cut)), grpc::Slice(bytes.substr(cut))};
    EXPECT_TRUE(IsAnswer(work, grpc::ByteBuffer(slices, 2))) << cut;
  }
}

TEST(IsAnswer, RefusesOneWrongByteOfEachArray) {
  const InlineWork work = MakeInlineWork(InlineOperator::kSortPairs, 100);
  const v1::SortResponse right = PairsAnswer(work);
  v1::SortResponse wrong = right;
  wrong.mutable_keys()->mutable_inline_data()->back() ^= 1;
  EXPECT_FALSE(IsAnswer(work, Serialized(wrong)));
  wrong = right;
  wrong.mutable_values()->mutable_inline_data()->front() ^= 1;
  EXPECT_FALSE(IsAnswer(work, Serialized(wrong)));
}

TEST(IsAnswer, RefusesArraysThatAreMissingShortOrTooMany) {
  const InlineWork work = MakeInlineWork(InlineOperator::kSortPairs, 100);
  const v1::SortResponse right = PairsAnswer(work);
  v1::SortResponse wrong = right;
  wrong.clear_values();
  EXPECT_FALSE(IsAnswer(work, Serialized(wrong)));
  wrong = right;
  wrong.mutable_keys()->mutable_inline_data()->pop_back();
  EXPECT_FALSE(IsAnswer(work, Serialized(wrong)));
  wrong = right;
  wrong.mutable_indices()->set_inline_data("1234");
  EXPECT_FALSE(IsAnswer(work, Serialized(wrong)));
}

grpc::ByteBuffer Chunk(uint32_t stream, int64_t first, const std::vector<uint32_t>& keys) {
  v1::ExecuteResponse response;
  response.mutable_chunk()->set_stream_id(stream);
  response.mutable_chunk()->set_first_element(first);
  response.mutable_chunk()->set_data(Bytes(keys));
  return Serialized(response);
}

TEST(JoinChunks, PutsStreamsOneAfterTheOther) {
  const auto joined = JoinChunks({{{Chunk(1, 0, {30}), Chunk(0, 0, {10})}}, {{Chunk(0, 1, {20})}}}, {2, 1});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(*joined, ElementsAre(10, 20, 30));
}

TEST(JoinChunks, RefusesWhatDoesNotCoverTheStreams) {
  EXPECT_FALSE(JoinChunks({{{Chunk(0, 0, {10})}}}, {2}).ok());
  EXPECT_FALSE(JoinChunks({{{Chunk(0, 1, {10, 20})}}}, {2}).ok());
  EXPECT_FALSE(JoinChunks({{{Chunk(1, 0, {10, 20})}}}, {2}).ok());
}

TEST(MakeStreamWork, MergesAndMovesAllKeysThatAreSent) {
  for (const StreamOperator op : {StreamOperator::kSort, StreamOperator::kMerge, StreamOperator::kMove}) {
    StreamWork work = MakeStreamWork(op, 10001);
    int64_t sent = 0;
    for (const int64_t count : work.counts) sent += count;
    EXPECT_EQ(sent, 10001);
    EXPECT_EQ(std::is_sorted(work.result.begin(), work.result.end()), op != StreamOperator::kMove);
    std::sort(work.result.begin(), work.result.end());
    EXPECT_EQ(work.result, SortedOnAllCores(work.keys));
  }
}

TEST(DescribeStages, GivesMediansInTheUnitAndTheTimesOfStreamsWhereThereAre) {
  StageTimes first, second, third;
  first.kernel_ns = 1000;
  second.kernel_ns = 3000;
  third.kernel_ns = 9000;
  Row row;
  DescribeStages({first, second, third}, kMicroseconds, &row);
  EXPECT_THAT(row.details, ElementsAre(Pair("copy_in_p50_us", 0), Pair("copy_out_p50_us", 0), Pair("kernel_p50_us", 3),
                                       Pair("queue_p50_us", 0)));
  first.send_ns = second.send_ns = third.send_ns = 2000000;
  DescribeStages({first, second, third}, kMilliseconds, &row);
  EXPECT_EQ(row.details.at("send_p50_ms"), 2);
  EXPECT_EQ(row.details.count("receive_p50_ms"), 0);
}

}  // namespace
}  // namespace corank::bench
