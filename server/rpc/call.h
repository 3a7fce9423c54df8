// One request of an operator, from the arrival of its message to the end of its response.
#ifndef CORANK_SERVER_RPC_CALL_H_
#define CORANK_SERVER_RPC_CALL_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/base/clock.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/trace.h"
#include "server/plan/parse/validate.h"
#include "server/rpc/active_calls.h"
#include "server/rpc/inline_payloads.h"
#include "server/plan/request_places.h"
#include "server/rpc/responses.h"
#include "server/run/stream_options.h"
#include "server/run/task.h"
#include "server/schedule/admission_queue.h"
#include "server/security/authenticator.h"

namespace corank {

/// Objects and limits that all calls share. The pointees outlive all calls.
struct CallEnvironment {
  Limits limits;
  const Clock* clock = nullptr;
  Metrics* metrics = nullptr;
  const Logger* logger = nullptr;
  AdmissionQueue* queue = nullptr;
  /// For work that occupies a lane for long: streams, and large arrays outside the message.
  AdmissionQueue* long_queue = nullptr;
  /// Requests with more bytes than this outside the message are such work.
  int64_t long_bytes = 0;
  /// Whether such work in shared memory runs in pieces.
  bool in_pieces = false;
  StreamOptions streams;
  SharedPlaces places;
  ActiveCalls* active_calls = nullptr;
  /// A request that takes at least this long is logged; 0: none is.
  int64_t slow_request_ns = 0;
  /// Null: calls are anonymous.
  const Authenticator* authenticator = nullptr;
};

/// Owns itself. Whoever sends the response calls End when that is done; the call then deletes itself. If a lane
/// abandoned the call, it lives until that lane releases it too.
class CallBase : public Completion {
 public:
  /// `op`: unset if only the message tells. `response` is filled before Send.
  CallBase(const CallEnvironment* environment, grpc::CallbackServerContext* context, std::optional<Operator> op,
           grpc::ByteBuffer* response);

  /// Reads and validates the request and submits it to the queue, or answers at once. Never waits. Empties `bytes`.
  void Start(grpc::ByteBuffer* bytes);
  /// The caller no longer wants the answer. Send follows nevertheless.
  void Cancel();
  /// The response has left, or cannot. May delete this.
  void End();
  /// Keeps this alive until Release, which may delete it.
  void Hold() { ++holders_; }
  void Release();

  void Done(const absl::Status& status, Outcome& outcome) final;
  void Abandon(const absl::Status& status) final;

 protected:
  /// Fills the request from a message of allowed size, whose payloads go into `payloads`.
  virtual absl::Status Parse(const grpc::ByteBuffer& bytes, InlinePayloads* payloads) = 0;
  /// The options of the request, as far as it was parsed.
  virtual const v1::RequestOptions& options() const = 0;
  virtual absl::StatusOr<std::unique_ptr<Operation>> ValidateRequest(const Limits& limits,
                                                                     const Places& places) const = 0;
  virtual grpc::ByteBuffer Respond(const Outcome& outcome) const = 0;
  /// Tells the caller the id of its request. Called before Send.
  virtual void ShowId(const CallId& id);
  /// Called once before Send, with the times of the request so far.
  virtual void Observe(const RequestRecord& record) { static_cast<void>(record); }
  /// Sends the response, or an error instead. Called once.
  virtual void Send(const grpc::Status& status) = 0;

  // For Parse.
  const SharedPlaces& places() const { return environment_.places; }
  const Caller& caller() const { return *caller_; }
  /// Names the operator, if the constructor did not. PERMISSION_DENIED: the caller may not use it.
  absl::Status SetOperator(Operator op);
  /// Gives the request at most this long.
  void LimitTime(std::chrono::nanoseconds timeout);

 private:
  absl::Status Authenticate();
  absl::Status Incomplete() const;
  absl::Status Read(const grpc::ByteBuffer& bytes);
  absl::Status Submit();
  // Reserves all server memory that the request needs, and chooses its queue.
  absl::StatusOr<std::unique_ptr<Task>> MakeTask();
  std::unique_ptr<Operation> AsExternal(std::unique_ptr<Operation> operation) const;
  void Reply(const absl::Status& reason, Outcome& outcome);
  void LogFailure(const absl::Status& status);

  const CallEnvironment& environment_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  const Instant arrival_;
  Instant deadline_;
  Instant validated_;
  Instant replied_;
  std::atomic<bool> cancelled_{false};
  bool abandoned_ = false;                       // before Done, if ever
  std::atomic<int> holders_{1};                  // End, Hold, and a lane that abandoned the call
  std::atomic<AdmissionQueue*> queue_{nullptr};  // the queue that the call was submitted to; null before
  std::shared_ptr<const Caller> caller_;         // null until the call is authenticated
  CallId id_;
  bool has_operator_;
  RequestRecord record_;
  InlinePayloads payloads_;  // operands borrow its bytes
};

/// A request that is a call of its own.
class UnaryCall : public grpc::ServerUnaryReactor, public CallBase {
 public:
  using CallBase::CallBase;

  void OnCancel() final { Cancel(); }
  void OnDone() final { End(); }
  /// Reactions are short, so gRPC runs them on the thread that triggers them, as it does for its own reactors. A thread
  /// hand-off for each would cost more than everything else that corank adds to a small call.
  bool InternalInlineable() final { return true; }

 private:
  void Send(const grpc::Status& status) final { Finish(status); }
};

template <typename Request, typename Response>
class Call final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& bytes, InlinePayloads* payloads) override {
    return payloads->Parse(bytes, places().host_pool, places().helpers, &request_);
  }
  const v1::RequestOptions& options() const override { return request_.options(); }
  absl::StatusOr<std::unique_ptr<Operation>> ValidateRequest(const Limits& limits,
                                                             const Places& places) const override {
    return Validate(request_, limits, places);
  }
  grpc::ByteBuffer Respond(const Outcome& outcome) const override { return EncodeResponse<Response>(outcome); }

  Request request_;  // without its payloads
};

/// Starts a call; gRPC takes the reactor.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* StartCall(const CallEnvironment* environment, grpc::CallbackServerContext* context,
                                    Operator op, const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto* call = new Call<Request, Response>(environment, context, op, response);
  // gRPC made this buffer for the call alone and does not read it again. Unless it is emptied, each request stays in
  // memory twice until it is answered.
  call->Start(const_cast<grpc::ByteBuffer*>(request));
  return call;
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CALL_H_
