// The channels to one server, calls over them, and what is done about those that fail.
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

/// What the server calls a call. Empty: it does not say.
struct CallIds {
  std::string request_id, trace_id;
};

/// How one attempt of a call went.
struct Attempt {
  absl::Status status;
  CallIds ids;
};

/// What a call cost on this side, for the attempt that succeeded.
struct CallCost {
  int64_t round_trip_ns = 0;
  int32_t attempts = 1;
  std::string request_id;
};

/// "x-request-id" and the trace of "traceparent", of a call that has ended.
CallIds IdsOf(const grpc::ClientContext& context);

/// Thread-safe.
class Connection {
 public:
  Connection(const ClientOptions& options, std::unique_ptr<Credentials> credentials);

  const ClientOptions& options() const { return options_; }
  /// Never before now: gRPC takes a time before 1970 for one that never comes.
  absl::Time Deadline(const CallOptions& call) const {
    return clock_->Now() + std::max(call.deadline.value_or(options_.deadline), absl::ZeroDuration());
  }
  /// Whether the address is one of this host.
  bool is_same_host() const { return is_same_host_; }

  /// Channel number `index`, each with a connection of its own. The first one carries all calls of one message.
  std::shared_ptr<grpc::Channel> channel(int index = 0);
  /// A call over this channel had to be given up (see Patience): calls to come use another connection.
  void Leave(const grpc::Channel* channel);
  /// Makes a context ready for a call: deadline, token and trace.
  void Prepare(absl::Time deadline, const CallOptions& call, grpc::ClientContext* context) const;

  /// Tries until an attempt succeeds, or may not be followed by another one. A call inside of an attempt does not
  /// repeat itself: it is one with Repeat::kNever, or none of Connection's.
  absl::StatusOr<CallCost> Try(absl::Time deadline, const CallOptions& call, Repeat repeat,
                               absl::FunctionRef<Attempt()> attempt);

  /// One attempt, which no other follows, put into words as Try does. It spends nothing of what a client may spend on
  /// retries, and does not wait until gRPC would connect again: for who asks until a server is there.
  absl::StatusOr<CallCost> TryNow(absl::Time deadline, const CallOptions& call, absl::FunctionRef<Attempt()> attempt);

  /// One call of one message each way, once.
  Attempt Once(const char* method, const grpc::ByteBuffer& request, absl::Time deadline, const CallOptions& call,
               grpc::ByteBuffer* response);
  /// The same with small messages. INTERNAL if the answer is none of this type.
  Attempt Once(const char* method, const google::protobuf::Message& request, absl::Time deadline,
               const CallOptions& call, google::protobuf::Message* response);
  /// One call that is waited for only as long as an idle server takes for it: its status, DEADLINE_EXCEEDED where it
  /// has not ended by then.
  absl::Status Tell(const char* method, const google::protobuf::Message& request);
  /// As Once, as often as it takes.
  absl::StatusOr<CallCost> Unary(const char* method, const google::protobuf::Message& request, absl::Time deadline,
                                 const CallOptions& call, Repeat repeat, google::protobuf::Message* response);

  /// What the server is, asked now.
  absl::StatusOr<ServerInfo> AskInfo(absl::Time deadline, const CallOptions& call);
  /// The same, asked once: for what does not change.
  absl::StatusOr<ServerInfo> Info(absl::Time deadline, const CallOptions& call);

 private:
  struct Exchange;

  std::shared_ptr<grpc::Channel> MakeChannel() const;
  /// As Try, with these options; `budget` may be null.
  absl::StatusOr<CallCost> TryAs(const RetryOptions& retry, RetryBudget* budget, absl::Time deadline,
                                 const CallOptions& call, Repeat repeat, absl::FunctionRef<Attempt()> attempt);
  std::unique_ptr<Exchange> Begin(const char* method, const grpc::ByteBuffer& request, absl::Time deadline,
                                  const CallOptions& call);

  const ClientOptions options_;
  const std::unique_ptr<Credentials> credentials_;
  const std::shared_ptr<RetryClock> clock_;
  const bool is_same_host_;
  RetryBudget budget_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServerInfo> info_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CONNECTION_H_
