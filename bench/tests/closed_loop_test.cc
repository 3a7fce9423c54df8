#include "bench/service/closed_loop.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

TEST(LightClient, SaysThatNobodyListens) {
  EXPECT_EQ(LightClient::Connect("127.0.0.1:1", 1, 1).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(LightClient::Connect("nowhere", 1, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RunClosedLoop, EndsWhenTheServerGoesAway) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  auto client = LightClient::Connect("127.0.0.1:" + std::to_string(ntohs(address.sin_port)), 4, 2);
  ASSERT_TRUE(client.ok()) << client.status();
  close(listener);  // resets what nobody has accepted
  const LightRequest request("/corank.v1.CorankService/Sort", Serialized({}));
  const auto result = RunClosedLoop(**client, request, 0, 8, absl::Hours(1));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(CallOnce(**client, request).ok());
}

}  // namespace
}  // namespace corank::bench
