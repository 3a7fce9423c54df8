// The channels to one server, calls over them, and what is done about refused ones.
#ifndef CORANK_CLIENT_CPP_CONNECTION_H_
#define CORANK_CLIENT_CPP_CONNECTION_H_

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
#include "client/cpp/client_options.h"
#include "client/cpp/operators.h"
#include "google/protobuf/message.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// How one attempt of a call went.
struct Attempt {
  absl::Status status;
  std::string request_id;  // as the server says it; empty: it did not answer
  bool is_final = false;   // an answer had begun: never tried again
};

/// What a call cost on this side, for the attempt that succeeded.
struct CallCost {
  int64_t round_trip_ns = 0;
  int32_t attempts = 1;
  std::string request_id;
};

/// "x-request-id" of a call that has ended, or empty.
std::string RequestId(const grpc::ClientContext& context);

/// Thread-safe.
class Connection {
 public:
  explicit Connection(const ClientOptions& options) : options_(options) {}

  const ClientOptions& options() const { return options_; }
  absl::Time Deadline(const CallOptions& call) const { return absl::Now() + call.deadline.value_or(options_.deadline); }
  /// Whether the address is one of this host.
  bool is_same_host() const;

  /// Channel number `index`, each with a connection of its own. The first one carries all calls of one message.
  std::shared_ptr<grpc::Channel> channel(int index = 0);

  /// Tries until an attempt succeeds or its error is final.
  absl::StatusOr<CallCost> Try(absl::Time deadline, Cancellation* cancellation, absl::FunctionRef<Attempt()> attempt);

  /// One call of one message each way.
  absl::StatusOr<CallCost> Unary(const char* method, const grpc::ByteBuffer& request, absl::Time deadline,
                                 Cancellation* cancellation, grpc::ByteBuffer* response);
  /// The same with small messages. INTERNAL if the answer is none of this type.
  absl::StatusOr<CallCost> Unary(const char* method, const google::protobuf::Message& request, absl::Time deadline,
                                 Cancellation* cancellation, google::protobuf::Message* response);

  /// What the server is, asked now.
  absl::StatusOr<ServerInfo> AskInfo(absl::Time deadline, Cancellation* cancellation);
  /// The same, asked once: for what does not change.
  absl::StatusOr<ServerInfo> Info(absl::Time deadline, Cancellation* cancellation);
  /// Says in words what gRPC says in codes: that nobody answered, how often a call was refused, which request it was.
  absl::Status Explain(const absl::Status& error, int attempts, const std::string& request_id);

 private:
  const ClientOptions options_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServerInfo> info_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CONNECTION_H_
