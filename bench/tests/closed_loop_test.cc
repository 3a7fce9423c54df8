#include "bench/service/closed_loop.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>

#include <string>

namespace corank::bench {
namespace {

grpc::ByteBuffer Serialized(const v1::SortResponse& response) {
  grpc::ByteBuffer buffer;
  bool owned = false;
  EXPECT_TRUE(grpc::SerializationTraits<v1::SortResponse>::Serialize(response, &buffer, &owned).ok());
  return buffer;
}

TEST(ReadStats, StepsOverThePayload) {
  v1::SortResponse response;
  response.mutable_keys()->set_inline_data(std::string(1 << 20, 'x'));
  response.set_algorithm(v1::SORT_ALGORITHM_RADIX);
  response.mutable_stats()->set_engine(v1::ENGINE_CPU);
  response.mutable_stats()->set_queue_ns(1234);
  grpc::ByteBuffer buffer = Serialized(response);
  EXPECT_EQ(ReadStats(&buffer, v1::SortResponse::kStatsFieldNumber).queue_ns(), 1234);
}

TEST(ReadStats, IsEmptyWithoutStats) {
  v1::SortResponse response;
  response.mutable_keys()->set_inline_data("xxxx");
  grpc::ByteBuffer buffer = Serialized(response);
  EXPECT_EQ(ReadStats(&buffer, v1::SortResponse::kStatsFieldNumber).engine(), v1::ENGINE_UNSPECIFIED);
}

TEST(RunClosedLoop, ReturnsTheFirstError) {
  const auto channels = Connect("127.0.0.1:1", 1);
  const auto result =
      RunClosedLoop(channels, {"/corank.v1.CorankService/Sort", Serialized({}), 0}, 2, absl::Milliseconds(1));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace corank::bench
