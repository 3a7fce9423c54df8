#include "client/cpp/connection.h"

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/cpp/cancellation.h"
#include "client/cpp/errors.h"
#include "client/cpp/messages.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace corank::client {
namespace {

/// "Connection refused" of gRPC's chain of causes, each after a colon.
absl::string_view LastClause(absl::string_view message) {
  const size_t colon = message.rfind(": ");
  return colon == absl::string_view::npos ? message : message.substr(colon + 2);
}

double Jitter() {
  thread_local absl::InsecureBitGen generator;
  return absl::Uniform(generator, 0.0, 1.0);
}

}  // namespace

std::string RequestId(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find("x-request-id");
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

bool Connection::is_same_host() const {
  absl::string_view address = options_.address;
  if (absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:")) return true;
  for (const char* scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&address, scheme)) break;
  }
  return absl::StartsWith(address, "127.") || absl::StartsWith(address, "localhost:") ||
         absl::StartsWith(address, "[::1]");
}

std::shared_ptr<grpc::Channel> Connection::channel(int index) {
  absl::MutexLock lock(&mutex_);
  while (static_cast<int>(channels_.size()) <= index) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options_.max_message_bytes));
    arguments.SetMaxSendMessageSize(static_cast<int>(options_.max_message_bytes));
    arguments.SetUserAgentPrefix("corank-cpp");
    // Channels of one process to one address share a connection otherwise.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels_.push_back(grpc::CreateCustomChannel(options_.address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels_[index];
}

absl::StatusOr<CallCost> Connection::Try(absl::Time deadline, Cancellation* cancellation,
                                         absl::FunctionRef<Attempt()> attempt) {
  for (int number = 1;; ++number) {
    const absl::Time start = absl::Now();
    Attempt done = attempt();
    if (done.status.ok()) {
      return CallCost{absl::ToInt64Nanoseconds(absl::Now() - start), number, std::move(done.request_id)};
    }
    const std::optional<absl::Duration> delay =
        done.is_final ? std::nullopt : NextRetry(options_.retry, done.status, number, deadline - absl::Now(), Jitter());
    if (!delay.has_value() || !CancellationScope::Sleep(cancellation, *delay)) {
      return Explain(done.status, number, done.request_id);
    }
  }
}

absl::StatusOr<CallCost> Connection::Unary(const char* method, const grpc::ByteBuffer& request, absl::Time deadline,
                                           Cancellation* cancellation, grpc::ByteBuffer* response) {
  grpc::GenericStub stub(channel());
  return Try(deadline, cancellation, [&]() -> Attempt {
    grpc::ClientContext context;
    if (deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(deadline));
    CancellationScope scope(cancellation);
    scope.Add(&context);
    grpc::CompletionQueue queue;
    grpc::Status status;
    const auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    call->Finish(response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    queue.Shutdown();
    return {ToAbslStatus(status), RequestId(context)};
  });
}

absl::StatusOr<CallCost> Connection::Unary(const char* method, const google::protobuf::Message& request,
                                           absl::Time deadline, Cancellation* cancellation,
                                           google::protobuf::Message* response) {
  const grpc::Slice bytes(request.SerializeAsString());
  grpc::ByteBuffer answer;
  absl::StatusOr<CallCost> cost = Unary(method, grpc::ByteBuffer(&bytes, 1), deadline, cancellation, &answer);
  if (!cost.ok()) return cost.status();
  grpc::ProtoBufferReader reader(&answer);
  if (!reader.status().ok() || !response->ParseFromZeroCopyStream(&reader)) {
    return absl::InternalError(absl::StrCat("the server's answer is not a ", response->GetTypeName()));
  }
  return cost;
}

absl::StatusOr<ServerInfo> Connection::AskInfo(absl::Time deadline, Cancellation* cancellation) {
  v1::GetServerInfoResponse response;
  const auto cost =
      Unary("/corank.v1.CorankService/GetServerInfo", v1::GetServerInfoRequest(), deadline, cancellation, &response);
  if (!cost.ok()) return cost.status();
  ServerInfo info = FromProto(response);
  absl::MutexLock lock(&mutex_);
  info_ = info;
  return info;
}

absl::StatusOr<ServerInfo> Connection::Info(absl::Time deadline, Cancellation* cancellation) {
  {
    absl::MutexLock lock(&mutex_);
    if (info_.has_value()) return *info_;
  }
  return AskInfo(deadline, cancellation);
}

absl::Status Connection::Explain(const absl::Status& error, int attempts, const std::string& request_id) {
  const bool answered = RetryDelay(error).has_value() || !request_id.empty();
  if (!answered && absl::IsUnavailable(error)) {
    return absl::UnavailableError(
        absl::StrCat("no corank server answers at ", options_.address, " (", LastClause(error.message()), ")"));
  }
  if (!answered && absl::IsDeadlineExceeded(error) && channel()->GetState(false) != GRPC_CHANNEL_READY) {
    return absl::DeadlineExceededError(
        absl::StrCat("the deadline passed before there was a connection to ", options_.address));
  }
  std::string message(error.message());
  if (attempts > 1) absl::StrAppend(&message, " (refused ", attempts, " times)");
  if (!request_id.empty()) absl::StrAppend(&message, " [request ", request_id, "]");
  return WithMessage(error, message);
}

}  // namespace corank::client
