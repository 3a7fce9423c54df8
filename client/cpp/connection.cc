#include "client/cpp/connection.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/address.h"
#include "client/cpp/cancellation_scope.h"
#include "client/cpp/explain.h"
#include "client/cpp/messages.h"
#include "client/cpp/patience.h"
#include "client/cpp/status_conversion.h"
#include "grpc/grpc.h"
#include "grpcpp/generic/generic_stub.h"

namespace corank::client {
namespace {

/// gRPC's default first backoff is one second, so all attempts of a call would see the failure of the first connection.
constexpr int kFirstReconnectMs = 100;
constexpr int kLastReconnectMs = 5000;
/// Chunks have at most 4 MiB, and travel whatever ClientOptions::max_message_bytes is; message_call enforces that
/// limit.
constexpr int64_t kChunkMessageBytes = int64_t{8} << 20;
/// For calls that only clean up. Regions that they miss end with the lease.
constexpr absl::Duration kTellDeadline = absl::Seconds(5), kTellPatience = absl::Milliseconds(250);

/// How often Connect looks for a cancellation.
constexpr absl::Duration kConnectStep = absl::Milliseconds(20);

/// For gRPC, where the largest number means never.
int Milliseconds(absl::Duration time) {
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(time), 1, std::numeric_limits<int>::max()));
}

/// Keeps gRPC initialised. Its last user would wait for gRPC's threads, which wait up to ten seconds for a connection
/// that stands still.
void KeepGrpc() {
  [[maybe_unused]] static const bool is_kept = [] {
    grpc_init();
    return true;
  }();
}

std::string Trailing(const grpc::ClientContext& context, const char* name) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

/// Reports the attempt to a caller that watches the progress.
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
      may_be_several_(MayBeSeveral(options.address)),
      budget_(options.retry) {
  KeepGrpc();
}

std::shared_ptr<grpc::Channel> Connection::MakeChannel() const {
  grpc::ChannelArguments arguments;
  const auto most = static_cast<int>(std::max(options_.max_message_bytes, kChunkMessageBytes));
  arguments.SetMaxReceiveMessageSize(most);
  arguments.SetMaxSendMessageSize(most);
  arguments.SetUserAgentPrefix("corank-cpp");
  // Otherwise channels of one process to one address share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Try knows which calls may repeat. gRPC's own retries, also those of a service configuration, would multiply
  // attempts.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastReconnectMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options_.keepalive_time));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options_.keepalive_timeout));
  // By default gRPC stops after two pings without data, but an answer may take longer than that.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  if (is_same_host_) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (may_be_several_) arguments.SetLoadBalancingPolicyName("round_robin");
  credentials_->Configure(&arguments);
  return grpc::CreateCustomChannel(GrpcTarget(options_.address), credentials_->channel(), arguments);
}

std::shared_ptr<grpc::Channel> Connection::channel(int index) {
  absl::MutexLock lock(&mutex_);
  while (static_cast<int>(channels_.size()) <= index) channels_.push_back(MakeChannel());
  return channels_[index];
}

void Connection::Leave(const grpc::Channel* channel) {
  absl::MutexLock lock(&mutex_);
  const auto found =
      std::find_if(channels_.begin(), channels_.end(), [channel](const auto& known) { return known.get() == channel; });
  if (found != channels_.end()) *found = MakeChannel();
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
  return TryAs(options_.retry, &budget_, deadline, call, repeat, attempt);
}

absl::StatusOr<CallCost> Connection::TryNow(absl::Time deadline, const CallOptions& call,
                                            absl::FunctionRef<Attempt()> attempt) {
  RetryOptions once;
  once.enabled = false;
  grpc::experimental::ChannelResetConnectionBackoff(channel().get());
  return TryAs(once, nullptr, deadline, call, Repeat::kNever, attempt);
}

bool Connection::Connect(Cancellation* cancellation, absl::Duration time) {
  const std::shared_ptr<grpc::Channel> connecting = channel();
  const absl::Time end = absl::Now() + time;
  for (absl::Time now = absl::Now(); now < end; now = absl::Now()) {
    if (cancellation != nullptr && cancellation->cancelled()) return false;
    connecting->WaitForStateChange(connecting->GetState(true), absl::ToChronoTime(std::min(end, now + kConnectStep)));
  }
  return cancellation == nullptr || !cancellation->cancelled();
}

bool Connection::Pause(const absl::Status& error, Cancellation* cancellation, absl::Duration time) {
  const bool is_connecting = FailureOf(error) == Failure::kNotSent && options_.retry.clock == nullptr;
  return is_connecting ? Connect(cancellation, time) : clock_->Sleep(cancellation, time);
}

absl::StatusOr<CallCost> Connection::TryAs(const RetryOptions& retry, RetryBudget* budget, absl::Time deadline,
                                           const CallOptions& call, Repeat repeat,
                                           absl::FunctionRef<Attempt()> attempt) {
  if (!call.traceparent.empty() && !IsTraceparent(call.traceparent)) {
    return absl::InvalidArgumentError("traceparent: must be a W3C traceparent: 00-<32 hex digits>-<16 hex digits>-01");
  }
  const absl::Time begin = clock_->Now();
  Ending ending;
  bool has_reloaded = false;
  for (;; ++ending.attempts) {
    ShowTry(call.progress, ending.attempts, false);
    const absl::Time start = clock_->Now();
    const std::string authorization = credentials_->authorization();
    const std::shared_ptr<grpc::Channel> first = channel();  // the attempt leaves it if it stands still
    Attempt done = attempt();
    const absl::Time now = clock_->Now();
    if (done.status.ok()) {
      if (budget != nullptr) budget->Refill();
      return CallCost{absl::ToInt64Nanoseconds(now - start), ending.attempts, std::move(done.ids.request_id)};
    }
    // The token was replaced while this client held the old one.
    if (absl::IsUnauthenticated(done.status) && !std::exchange(has_reloaded, true) &&
        credentials_->Reload(authorization)) {
      continue;
    }
    NextTry next = AfterFailure(retry, done.status, repeat, ending.attempts, deadline - now, clock_->Random());
    const bool may_spend = budget == nullptr || FailureOf(done.status) == Failure::kFinal || budget->Take();
    if (!may_spend && next.delay.has_value()) {
      next = {std::nullopt, "too many calls of this client fail now for more tries"};
    }
    if (next.delay.has_value()) {
      ShowTry(call.progress, ending.attempts + 1, true);
      ending.before = std::string(done.status.message());
      if (Pause(done.status, call.cancellation, *next.delay)) continue;
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
    ending.had_connection = first->GetState(false) == GRPC_CHANNEL_READY;
    return Explain(done.status, options_, ending);
  }
}

/// Everything that gRPC uses of a call. It must outlive the call.
struct Connection::Exchange {
  explicit Exchange(std::shared_ptr<grpc::Channel> channel) : channel(std::move(channel)) {}

  /// Waits until this time. Whether the call has ended.
  bool HasEnded(absl::Time time) {
    void* tag = nullptr;
    bool ok = false;
    return queue.AsyncNext(&tag, &ok, absl::ToChronoTime(time)) == grpc::CompletionQueue::GOT_EVENT;
  }
  /// Abandons the call.
  static void LetGo(std::unique_ptr<Exchange> exchange) {
    std::thread([exchange = std::move(exchange)] { exchange->HasEnded(absl::InfiniteFuture()); }).detach();
  }

  const std::shared_ptr<grpc::Channel> channel;
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::ByteBuffer response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
};

std::unique_ptr<Connection::Exchange> Connection::Begin(const char* method, const grpc::ByteBuffer& request,
                                                        absl::Time deadline, const CallOptions& call) {
  auto exchange = std::make_unique<Exchange>(channel());
  Prepare(deadline, call, &exchange->context);
  exchange->reader =
      grpc::GenericStub(exchange->channel).PrepareUnaryCall(&exchange->context, method, request, &exchange->queue);
  exchange->reader->StartCall();
  exchange->reader->Finish(&exchange->response, &exchange->status, nullptr);
  return exchange;
}

Attempt Connection::Once(const char* method, const grpc::ByteBuffer& request, absl::Time deadline,
                         const CallOptions& call, grpc::ByteBuffer* response) {
  std::unique_ptr<Exchange> exchange = Begin(method, request, deadline, call);
  Patience patience(deadline, call.cancellation);
  bool has_ended;
  {
    CancellationScope scope(call.cancellation);
    scope.Add(&exchange->context);
    has_ended = patience.Await([&exchange](absl::Time until) { return exchange->HasEnded(until); });
  }
  if (has_ended) {
    response->Swap(&exchange->response);
    return {ToAbslStatus(exchange->status), IdsOf(exchange->context)};
  }
  Leave(exchange->channel.get());
  exchange->context.TryCancel();
  Exchange::LetGo(std::move(exchange));
  return {patience.error(), {}};
}

absl::Status Connection::Tell(const char* method, const google::protobuf::Message& request) {
  const absl::Time now = absl::Now();
  std::unique_ptr<Exchange> exchange = Begin(method, Encode(request), now + kTellDeadline, CallOptions());
  if (exchange->HasEnded(now + kTellPatience)) return ToAbslStatus(exchange->status);
  Exchange::LetGo(std::move(exchange));
  return absl::DeadlineExceededError("no answer yet");
}

Attempt Connection::Once(const char* method, const google::protobuf::Message& request, absl::Time deadline,
                         const CallOptions& call, google::protobuf::Message* response) {
  grpc::ByteBuffer answer;
  Attempt done = Once(method, Encode(request), deadline, call, &answer);
  if (done.status.ok()) done.status = Decode(&answer, response);
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
