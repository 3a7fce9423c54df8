#include "client/cpp/connection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/address.h"
#include "client/cpp/cancellation.h"
#include "client/cpp/errors.h"
#include "client/cpp/explain.h"
#include "client/cpp/messages.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace corank::client {
namespace {

/// gRPC's own first wait is a second: the tries of a call would all meet the failure of the first connection.
constexpr int kFirstReconnectMs = 100;
constexpr int kLastReconnectMs = 5000;

std::string Trailing(const grpc::ClientContext& context, const char* name) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

/// A call that waits to be tried again, for who watches it.
void ShowTry(TransferProgress* progress, int attempt, bool is_waiting) {
  if (progress == nullptr) return;
  progress->attempt = attempt;
  progress->is_waiting = is_waiting;
}

}  // namespace

CallIds IdsOf(const grpc::ClientContext& context) {
  return {Trailing(context, "x-request-id"), TraceId(Trailing(context, "traceparent"))};
}

Connection::Connection(const ClientOptions& options, std::unique_ptr<Credentials> credentials)
    : options_(options),
      credentials_(std::move(credentials)),
      clock_(options.retry.clock != nullptr ? options.retry.clock : RetryClock::Real()),
      is_same_host_(IsThisHost(options.address)),
      budget_(options.retry) {}

std::shared_ptr<grpc::Channel> Connection::channel(int index) {
  absl::MutexLock lock(&mutex_);
  while (static_cast<int>(channels_.size()) <= index) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options_.max_message_bytes));
    arguments.SetMaxSendMessageSize(static_cast<int>(options_.max_message_bytes));
    arguments.SetUserAgentPrefix("corank-cpp");
    // Channels of one process to one address share a connection otherwise.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // Try repeats calls: it knows which may be. gRPC's retries, of a service configuration too, would multiply them.
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastReconnectMs);
    if (is_same_host_) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    credentials_->Configure(&arguments);
    channels_.push_back(grpc::CreateCustomChannel(options_.address, credentials_->channel(), arguments));
  }
  return channels_[index];
}

void Connection::Prepare(absl::Time deadline, const CallOptions& call, grpc::ClientContext* context) const {
  if (deadline != absl::InfiniteFuture()) context->set_deadline(absl::ToChronoTime(deadline));
  if (const std::string authorization = credentials_->authorization(); !authorization.empty()) {
    context->AddMetadata("authorization", authorization);
  }
  const std::string& parent = call.traceparent.empty() ? options_.traceparent : call.traceparent;
  if (!parent.empty()) context->AddMetadata("traceparent", parent);
}

absl::StatusOr<CallCost> Connection::Try(absl::Time deadline, const CallOptions& call, Repeat repeat,
                                         absl::FunctionRef<Attempt()> attempt) {
  if (!call.traceparent.empty() && !IsTraceparent(call.traceparent)) {
    return absl::InvalidArgumentError("traceparent: is none of W3C Trace Context, such as 00-<32 digits>-<16>-01");
  }
  const absl::Time begin = clock_->Now();
  Ending ending;
  bool has_reloaded = false;
  for (;; ++ending.attempts) {
    ShowTry(call.progress, ending.attempts, false);
    const absl::Time start = clock_->Now();
    const std::string authorization = credentials_->authorization();
    Attempt done = attempt();
    const absl::Time now = clock_->Now();
    if (done.status.ok()) {
      budget_.Refill();
      return CallCost{absl::ToInt64Nanoseconds(now - start), ending.attempts, std::move(done.ids.request_id)};
    }
    // A token that was replaced while this client held the old one.
    if (absl::IsUnauthenticated(done.status) && !std::exchange(has_reloaded, true) &&
        credentials_->Reload(authorization)) {
      continue;
    }
    NextTry next = AfterFailure(options_.retry, done.status, done.is_spoilt ? Repeat::kNever : repeat, ending.attempts,
                                deadline - now, clock_->Random());
    if (FailureOf(done.status) != Failure::kFinal && !budget_.Take() && next.delay.has_value()) {
      next = {std::nullopt, "too many calls of this client fail now for more tries"};
    }
    if (next.delay.has_value()) {
      ShowTry(call.progress, ending.attempts + 1, true);
      ending.before = std::string(done.status.message());
      if (clock_->Sleep(call.cancellation, *next.delay)) continue;
      done.status = absl::CancelledError(
          absl::StrCat("cancelled before try ", ending.attempts + 1, "; the try before: ", ending.before));
    }
    if (!absl::IsDeadlineExceeded(done.status)) ending.before.clear();
    ending.elapsed = clock_->Now() - begin;
    ending.reason = std::move(next.reason);
    ending.request_id = std::move(done.ids.request_id);
    ending.trace_id = done.ids.trace_id.empty()
                          ? TraceId(call.traceparent.empty() ? options_.traceparent : call.traceparent)
                          : std::move(done.ids.trace_id);
    ending.had_connection = channel()->GetState(false) == GRPC_CHANNEL_READY;
    return Explain(done.status, options_, ending);
  }
}

Attempt Connection::Once(const char* method, const grpc::ByteBuffer& request, absl::Time deadline,
                         const CallOptions& call, grpc::ByteBuffer* response) {
  grpc::GenericStub stub(channel());
  grpc::ClientContext context;
  Prepare(deadline, call, &context);
  CancellationScope scope(call.cancellation);
  scope.Add(&context);
  grpc::CompletionQueue queue;
  grpc::Status status;
  const auto reader = stub.PrepareUnaryCall(&context, method, request, &queue);
  reader->StartCall();
  reader->Finish(response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  return {ToAbslStatus(status), IdsOf(context)};
}

Attempt Connection::Once(const char* method, const google::protobuf::Message& request, absl::Time deadline,
                         const CallOptions& call, google::protobuf::Message* response) {
  const grpc::Slice bytes(request.SerializeAsString());
  grpc::ByteBuffer answer;
  Attempt done = Once(method, grpc::ByteBuffer(&bytes, 1), deadline, call, &answer);
  if (!done.status.ok()) return done;
  grpc::ProtoBufferReader reader(&answer);
  if (!reader.status().ok() || !response->ParseFromZeroCopyStream(&reader)) {
    done.status = absl::InternalError(absl::StrCat("the server's answer is not a ", response->GetTypeName()));
  }
  return done;
}

absl::StatusOr<CallCost> Connection::Unary(const char* method, const google::protobuf::Message& request,
                                           absl::Time deadline, const CallOptions& call, Repeat repeat,
                                           google::protobuf::Message* response) {
  return Try(deadline, call, repeat, [&] { return Once(method, request, deadline, call, response); });
}

absl::StatusOr<ServerInfo> Connection::AskInfo(absl::Time deadline, const CallOptions& call) {
  v1::GetServerInfoResponse response;
  const auto cost = Unary("/corank.v1.CorankService/GetServerInfo", v1::GetServerInfoRequest(), deadline, call,
                          Repeat::kAlways, &response);
  if (!cost.ok()) return cost.status();
  ServerInfo info = FromProto(response);
  absl::MutexLock lock(&mutex_);
  info_ = info;
  return info;
}

absl::StatusOr<ServerInfo> Connection::Info(absl::Time deadline, const CallOptions& call) {
  {
    absl::MutexLock lock(&mutex_);
    if (info_.has_value()) return *info_;
  }
  return AskInfo(deadline, call);
}

}  // namespace corank::client
