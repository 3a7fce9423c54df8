#include "bench/service/closed_loop.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <atomic>
#include <optional>
#include <utility>

#include "absl/time/clock.h"

namespace corank::bench {
namespace {

using google::protobuf::internal::WireFormatLite;

/// A thread's part of a loop.
class ClosedCaller final : public LightCaller {
 public:
  ClosedCaller(const LightRequest* request, int stats_field, int in_flight, absl::Time last_start,
               std::atomic<bool>* has_failed)
      : request_(request),
        stats_field_(stats_field),
        last_start_(last_start),
        has_failed_(has_failed),
        to_start_(in_flight) {}

  absl::Time due() const override {
    if (to_start_ > 0) return absl::UnixEpoch();
    return is_over_ ? absl::InfinitePast() : absl::InfiniteFuture();
  }
  Call Next() override {
    --to_start_;
    return {request_, absl::InfiniteDuration()};
  }
  void OnAnswer(const LightAnswer& answer) override {
    if (answer.status.ok()) {
      result.latency_us.push_back(absl::ToDoubleMicroseconds(answer.elapsed));
      const std::optional<StageTimes> stages = ReadStages(ReadStats(answer.message, stats_field_));
      if (stages.has_value()) result.stages.push_back(*stages);
    } else {
      status.Update(FromGrpc(answer.status));
      *has_failed_ = true;
    }
    is_over_ = is_over_ || *has_failed_ || answer.start + answer.elapsed >= last_start_;
    if (!is_over_) ++to_start_;
  }

  LoopResult result;
  absl::Status status;

 private:
  const LightRequest* const request_;
  const int stats_field_;
  const absl::Time last_start_;
  std::atomic<bool>* const has_failed_;
  int to_start_;
  bool is_over_ = false;  // no call follows an answer any more
};

/// Makes one call, or none.
class OneCall final : public LightCaller {
 public:
  explicit OneCall(const LightRequest* request) : request_(request) {}

  absl::Time due() const override { return request_ == nullptr ? absl::InfinitePast() : absl::UnixEpoch(); }
  Call Next() override { return {std::exchange(request_, nullptr), absl::InfiniteDuration()}; }
  void OnAnswer(const LightAnswer& given) override {
    status = given.status;
    // The bytes are the client's.
    std::vector<grpc::Slice> slices;
    if (!status.ok() || !given.message->Dump(&slices).ok()) return;
    std::vector<grpc::Slice> copies;
    for (const grpc::Slice& slice : slices) copies.emplace_back(slice.begin(), slice.size());
    answer = grpc::ByteBuffer(copies.data(), copies.size());
  }

  grpc::Status status;
  grpc::ByteBuffer answer;

 private:
  const LightRequest* request_;
};

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

std::vector<std::shared_ptr<grpc::Channel>> Connect(const std::string& address, int count) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < count; ++i) {
    channels.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels;
}

absl::StatusOr<LoopResult> RunClosedLoop(LightClient& client, const LightRequest& request, int stats_field,
                                         int in_flight, absl::Duration duration) {
  std::atomic<bool> has_failed = false;
  const absl::Time start = absl::Now();
  std::vector<std::unique_ptr<LightCaller>> callers;
  for (int i = 0; i < client.threads(); ++i) {
    const int share = (in_flight + i) / client.threads();  // rounded down for the first ones
    callers.push_back(std::make_unique<ClosedCaller>(&request, stats_field, share, start + duration, &has_failed));
  }
  client.Run(callers);
  LoopResult total;
  total.seconds = absl::ToDoubleSeconds(absl::Now() - start);
  for (const auto& caller : callers) {
    auto& part = static_cast<ClosedCaller&>(*caller);
    if (!part.status.ok()) return part.status;
    total.latency_us.insert(total.latency_us.end(), part.result.latency_us.begin(), part.result.latency_us.end());
    total.stages.insert(total.stages.end(), part.result.stages.begin(), part.result.stages.end());
  }
  return total;
}

absl::StatusOr<grpc::ByteBuffer> CallOnce(LightClient& client, const LightRequest& request) {
  std::vector<std::unique_ptr<LightCaller>> callers;
  for (int i = 0; i < client.threads(); ++i) {
    callers.push_back(std::make_unique<OneCall>(i == 0 ? &request : nullptr));
  }
  client.Run(callers);
  auto& called = static_cast<OneCall&>(*callers[0]);
  if (!called.status.ok()) return FromGrpc(called.status);
  return called.answer;
}

corank::v1::RequestStats ReadStats(grpc::ByteBuffer* response, int stats_field) {
  corank::v1::RequestStats stats;
  grpc::ProtoBufferReader reader(response);
  google::protobuf::io::CodedInputStream input(&reader);
  while (const uint32_t tag = input.ReadTag()) {
    if (tag == WireFormatLite::MakeTag(stats_field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      WireFormatLite::ReadMessage(&input, &stats);
    } else if (!WireFormatLite::SkipField(&input, tag)) {
      break;
    }
  }
  return stats;
}

}  // namespace corank::bench
