// The channels to one server, calls over them, and their retries.
#ifndef CORANK_CLIENT_CPP_CONNECTION_H_
#define CORANK_CLIENT_CPP_CONNECTION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/credentials.h"
#include "client/cpp/retry.h"
#include "corank/client_options.h"
#include "corank/operators.h"
#include "google/protobuf/message.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// The server's names for a call. Empty if the server did not say.
struct CallIds {
  std::string request_id, trace_id;
};

/// How one attempt of a call went.
struct Attempt {
  absl::Status status;
  CallIds ids;
};

/// The cost of a call at the client, for the attempt that succeeded.
struct CallCost {
  int64_t round_trip_ns = 0;
  int32_t attempts = 1;
  std::string request_id;
};

/// Reads "x-request-id" and the trace of "traceparent" from a call that has ended.
CallIds IdsOf(const grpc::ClientContext& context);

/// A connection to one server. Thread-safe.
class Connection {
 public:
  Connection(const ClientOptions& options, std::unique_ptr<Credentials> credentials);

  const ClientOptions& options() const { return options_; }
  /// Never in the past, because gRPC takes a time before 1970 for infinity.
  absl::Time Deadline(const CallOptions& call) const {
    return clock_->Now() + std::max(call.deadline.value_or(options_.deadline), absl::ZeroDuration());
  }
  /// Whether the address is one of this host.
  bool is_same_host() const { return is_same_host_; }
  /// Whether each channel may reach another server.
  bool may_be_several() const { return may_be_several_; }

  /// Channel number `index`. Each has its own connection; the first carries all calls of one message.
  std::shared_ptr<grpc::Channel> channel(int index = 0);
  /// Replaces a channel whose call was abandoned (see Patience): later calls use another connection.
  void Leave(const grpc::Channel* channel);
  /// Sets deadline, token and trace of a context.
  void Prepare(absl::Time deadline, const CallOptions& call, grpc::ClientContext* context) const;

  /// Runs attempts until one succeeds or none may follow. A call inside an attempt must not retry by itself: it uses
  /// Repeat::kNever or bypasses Connection.
  absl::StatusOr<CallCost> Try(absl::Time deadline, const CallOptions& call, Repeat repeat,
                               absl::FunctionRef<Attempt()> attempt);

  /// Runs one attempt and explains its error as Try does. Spends no retry budget and connects without gRPC's reconnect
  /// backoff, for callers that poll until a server is up.
  absl::StatusOr<CallCost> TryNow(absl::Time deadline, const CallOptions& call, absl::FunctionRef<Attempt()> attempt);

  /// Waits for `time` and drives the first channel's new connection meanwhile: gRPC 1.51 has no thread for that while
  /// no call runs. False as soon as the cancellation, which may be null, is cancelled.
  bool Connect(Cancellation* cancellation, absl::Duration time);

  /// One attempt of a call with one message each way.
  Attempt Once(const char* method, const grpc::ByteBuffer& request, absl::Time deadline, const CallOptions& call,
               grpc::ByteBuffer* response);
  /// The same with small messages. INTERNAL if the answer has another type.
  Attempt Once(const char* method, const google::protobuf::Message& request, absl::Time deadline,
               const CallOptions& call, google::protobuf::Message* response);
  /// One call that this waits for only as long as an idle server needs. Returns its status, or DEADLINE_EXCEEDED if the
  /// call still runs then.
  absl::Status Tell(const char* method, const google::protobuf::Message& request);
  /// Once, with retries.
  absl::StatusOr<CallCost> Unary(const char* method, const google::protobuf::Message& request, absl::Time deadline,
                                 const CallOptions& call, Repeat repeat, google::protobuf::Message* response);

  /// Asks the server what it is.
  absl::StatusOr<ServerInfo> AskInfo(absl::Time deadline, const CallOptions& call);
  /// The first answer to AskInfo, for facts that do not change.
  absl::StatusOr<ServerInfo> Info(absl::Time deadline, const CallOptions& call);

 private:
  struct Exchange;

  std::shared_ptr<grpc::Channel> MakeChannel() const;
  /// Waits between two attempts, and connects meanwhile if `error` says that there was no connection. False as soon as
  /// the cancellation, which may be null, is cancelled.
  bool Pause(const absl::Status& error, Cancellation* cancellation, absl::Duration time);
  /// Try with these options; `budget` may be null.
  absl::StatusOr<CallCost> TryAs(const RetryOptions& retry, RetryBudget* budget, absl::Time deadline,
                                 const CallOptions& call, Repeat repeat, absl::FunctionRef<Attempt()> attempt);
  std::unique_ptr<Exchange> Begin(const char* method, const grpc::ByteBuffer& request, absl::Time deadline,
                                  const CallOptions& call);

  const ClientOptions options_;
  const std::unique_ptr<Credentials> credentials_;
  const std::shared_ptr<RetryClock> clock_;
  const bool is_same_host_, may_be_several_;
  RetryBudget budget_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServerInfo> info_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CONNECTION_H_
