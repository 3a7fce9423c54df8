#include "bench/service/closed_loop.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace corank::bench {
namespace {

using google::protobuf::internal::WireFormatLite;

/// The state that all slots of a loop share.
struct Loop {
  const UnaryCall* call = nullptr;
  absl::Time last_start;

  absl::Mutex mutex;
  int running ABSL_GUARDED_BY(mutex) = 0;
  absl::Status status ABSL_GUARDED_BY(mutex);
};

/// Makes one call at a time. One thread touches it at a time: the starter of the call, or the bringer of its answer.
class Slot {
 public:
  Slot(Loop* loop, const std::shared_ptr<grpc::Channel>& channel) : loop_(loop), stub_(channel) {}

  void Send() {
    context_.emplace();
    response_.Clear();
    start_ = absl::Now();
    stub_.UnaryCall(&*context_, loop_->call->method, {}, &loop_->call->request, &response_,
                    [this](grpc::Status status) { OnAnswer(std::move(status)); });
  }

  LoopResult result;

 private:
  void OnAnswer(grpc::Status status) {
    const absl::Time now = absl::Now();
    if (status.ok()) {
      result.latency_us.push_back(absl::ToDoubleMicroseconds(now - start_));
      const std::optional<StageTimes> stages = ReadStages(ReadStats(&response_, loop_->call->stats_field));
      if (stages.has_value()) result.stages.push_back(*stages);
      if (now < loop_->last_start) return Send();
    }
    absl::MutexLock lock(&loop_->mutex);
    loop_->status.Update(FromGrpc(status));
    --loop_->running;
  }

  Loop* loop_;
  grpc::GenericStub stub_;
  std::optional<grpc::ClientContext> context_;
  grpc::ByteBuffer response_;
  absl::Time start_;
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

absl::StatusOr<LoopResult> RunClosedLoop(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                                         const UnaryCall& call, int in_flight, absl::Duration duration) {
  Loop loop;
  loop.call = &call;
  std::vector<std::unique_ptr<Slot>> slots;
  for (int i = 0; i < in_flight; ++i) {
    slots.push_back(std::make_unique<Slot>(&loop, channels[static_cast<size_t>(i) % channels.size()]));
  }
  const absl::Time start = absl::Now();
  loop.last_start = start + duration;
  {
    absl::MutexLock lock(&loop.mutex);
    loop.running = in_flight;
  }
  for (const auto& slot : slots) slot->Send();

  LoopResult total;
  {
    absl::MutexLock lock(&loop.mutex);
    const auto is_done = [&loop]() ABSL_SHARED_LOCKS_REQUIRED(loop.mutex) { return loop.running == 0; };
    loop.mutex.Await(absl::Condition(&is_done));
    total.seconds = absl::ToDoubleSeconds(absl::Now() - start);
    if (!loop.status.ok()) return loop.status;
  }
  for (const auto& slot : slots) {
    const LoopResult& part = slot->result;
    total.latency_us.insert(total.latency_us.end(), part.latency_us.begin(), part.latency_us.end());
    total.stages.insert(total.stages.end(), part.stages.begin(), part.stages.end());
  }
  return total;
}

absl::StatusOr<grpc::ByteBuffer> CallOnce(const std::shared_ptr<grpc::Channel>& channel, const UnaryCall& call) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
  absl::Notification done;
  stub.UnaryCall(&context, call.method, {}, &call.request, &response, [&](grpc::Status answered) {
    status = std::move(answered);
    done.Notify();
  });
  done.WaitForNotification();
  if (!status.ok()) return FromGrpc(status);
  return response;
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
