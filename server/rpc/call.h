// One request of an operator, from the arrival of its message to the end of its response.
#ifndef CORANK_SERVER_RPC_CALL_H_
#define CORANK_SERVER_RPC_CALL_H_

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "kernels/engine/budget.h"
#include "server/base/bytes.h"
#include "server/base/call_status.h"
#include "server/base/clock.h"
#include "server/memory/received_message.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/observe/trace.h"
#include "server/plan/parse/validate.h"
#include "server/plan/planner.h"
#include "server/plan/request_places.h"
#include "server/rpc/active_calls.h"
#include "server/rpc/gate.h"
#include "server/rpc/inline_payloads.h"
#include "server/rpc/large_calls.h"
#include "server/rpc/message_receiver.h"
#include "server/rpc/responses.h"
#include "server/rpc/tenant_rates.h"
#include "server/run/stream_options.h"
#include "server/run/task.h"
#include "server/schedule/scheduler.h"
#include "server/security/authenticator.h"
#include "server/wire/call.h"
#include "server/wire/loop.h"

namespace corank {

/// Objects and limits that all calls share. The pointees outlive all calls.
struct CallEnvironment {
  Limits limits;
  const Clock* clock = nullptr;
  Metrics* metrics = nullptr;
  const Logger* logger = nullptr;
  Scheduler* queue = nullptr;
  /// For work that occupies a lane for long: streams, and large arrays outside the message.
  Scheduler* long_queue = nullptr;
  PlannerOptions planner;
  StreamOptions streams;
  SharedPlaces places;
  ActiveCalls* active_calls = nullptr;
  /// Bounds messages that have not come whole, beside their arrays.
  Budget* buffered = nullptr;
  /// Counts what streams and work in pieces allocate. Admission bounds it (DeviceMemory), so it has no limit.
  std::shared_ptr<Budget> job_memory = Budget::Create(std::numeric_limits<int64_t>::max());
  /// Outlives the loops that calls run on.
  LargeCalls* large_calls = nullptr;
  /// Null: tenants may make any number of requests.
  TenantRates* rates = nullptr;
  /// For what is to happen later.
  wire::Loop* timers = nullptr;
  /// Closed while the server takes no new requests.
  const Gate* gate = nullptr;
  /// A request that takes at least this long is logged; 0: none is.
  int64_t slow_request_ns = 0;
  /// Null: calls are anonymous.
  const Authenticator* authenticator = nullptr;
};

/// One request. Whoever sends the response calls End when that is done. The call keeps itself until then; if a lane
/// abandoned it, until that lane releases it too.
class CallBase : public Completion {
 public:
  /// `op`: unset if only the message tells.
  CallBase(const CallEnvironment* environment, std::shared_ptr<wire::Call> call, std::optional<Operator> op);

  /// Decides by the head whether the message is wanted: who calls, what the caller may do and how often, whether the
  /// server takes requests. An error goes to Refuse.
  absl::Status Admit();
  /// Answers with an error, before Start.
  void Refuse(const absl::Status& status);
  /// Reads and validates the request and submits it to the queue, or answers at once. Does not wait.
  void Start(ReceivedMessage message);
  /// Answers instead of Start that the caller's time is nearly over.
  void RefuseLate();
  /// The caller no longer wants the answer. Send follows nevertheless.
  void Cancel();
  /// The response has left, or cannot.
  void End();
  /// Keeps this alive until Release, which may delete it.
  void Hold() { ++holders_; }
  void Release();
  /// Before anything else: what Release lets go of.
  void Own(std::shared_ptr<CallBase> self) { self_ = std::move(self); }

  void Done(const absl::Status& status, Outcome& outcome) final;
  void Abandon(const absl::Status& status) final;

 protected:
  /// Fills the request from a message of allowed size, whose payloads go into `payloads`.
  virtual absl::Status Parse(const ReceivedMessage& message, InlinePayloads* payloads) = 0;
  /// The options of the request, as far as it was parsed.
  virtual const v1::RequestOptions& options() const = 0;
  virtual absl::StatusOr<std::unique_ptr<Operation>> ValidateRequest(const Limits& limits, Places& places) const = 0;
  virtual Bytes Respond(const Outcome& outcome) const = 0;
  /// Called once before Send, with the times of the request so far.
  virtual void Observe(const RequestRecord& record) { static_cast<void>(record); }
  /// Sends the response, or an error instead. Called once. `id`: of the request.
  virtual void Send(const CallStatus& status, const CallId& id, Bytes response) = 0;

  const CallEnvironment& environment() const { return environment_; }
  wire::Call& call() const { return *call_; }
  /// For a message of this size, in `turn`, which may have begun. Whether the message may come now; if not, the call's
  /// Read follows once it may. With RetryInfo: it may not come at all, because the queue or the line of turns is full.
  absl::StatusOr<bool> AskForTurn(size_t bytes, std::unique_ptr<LargeCalls::Turn>* turn) const;
  /// For a message of this size. INVALID_ARGUMENT.
  absl::Status CheckSize(size_t bytes) const;
  /// Why the message did not come: counts it.
  absl::Status Incomplete(const CallStatus& status) const;

  // For Parse.
  const SharedPlaces& places() const { return environment_.places; }
  const Caller& caller() const { return *caller_; }
  /// Names the operator, if the constructor did not. PERMISSION_DENIED: the caller may not use it.
  absl::Status SetOperator(Operator op);
  /// Gives the request at most this long.
  void LimitTime(std::chrono::nanoseconds timeout);

 private:
  // Submits the request, or answers with an error. Without `may_wait`, a helper goes on where this would wait.
  void Submit(bool may_wait);
  // Reserves all server memory that the request needs, and chooses its queue.
  absl::StatusOr<std::unique_ptr<Task>> MakeTask(bool may_wait, bool* would_wait);
  // Those, of the allowed devices, that may share a request.
  uint64_t IdleDevices(uint64_t allowed) const;
  void Reply(const absl::Status& reason, Outcome& outcome);
  void LogFailure(const absl::Status& status);

  const CallEnvironment& environment_;
  const std::shared_ptr<wire::Call> call_;
  const Instant arrival_;
  Instant deadline_;
  Instant validated_;
  Instant replied_;
  std::shared_ptr<CallBase> self_;
  std::atomic<bool> cancelled_{false};
  bool abandoned_ = false;                  // before Done, if ever
  std::atomic<int> holders_{1};             // End, Hold, and a lane that abandoned the call
  std::atomic<Scheduler*> queue_{nullptr};  // the queue that the call was submitted to; null before
  std::shared_ptr<const Caller> caller_;    // null until the call is authenticated
  CallId id_;
  bool has_operator_;
  RequestRecord record_;
  InlinePayloads payloads_;  // operands borrow its bytes
};

/// A request that is a call of its own.
class UnaryCall : public wire::Handler, public CallBase {
 public:
  /// `type`, `field`: of the message, as in MessageReceiver.
  UnaryCall(const CallEnvironment* environment, std::shared_ptr<wire::Call> call, std::optional<Operator> op,
            const google::protobuf::Descriptor* type, int field);

  /// After Own: refuses the call or reads its message.
  void Begin();

  wire::Sink* OnMessageBegin(size_t size) final;
  void OnMessage() final;
  void OnHalfClose() final;
  void OnCancel(const CallStatus& status) final;
  void OnDone() final;

 private:
  void Send(const CallStatus& status, const CallId& id, Bytes response) final;
  // RESOURCE_EXHAUSTED with RetryInfo: the caller should take its earlier answers first.
  absl::Status CheckAnswersTaken() const;
  struct Releaser {
    void operator()(UnaryCall* call) const { call->Release(); }
  };
  // Starts a call whose message has come, or refuses it if it has waited too long since.
  void TakeTurn();

  MessageReceiver receiver_;
  std::unique_ptr<LargeCalls::Turn> turn_;  // of a large message
  std::optional<wire::Loop::Place> place_;  // while the message that has come waits
  size_t size_ = 0;                         // of the message
  bool is_whole_ = false;                   // the message has come
  bool is_started_ = false;                 // or refused
  bool is_answered_ = false;
};

/// A unary call of CorankService: the messages of one operator.
template <typename Request, typename Response>
class OperatorCall final : public UnaryCall {
 public:
  OperatorCall(const CallEnvironment* environment, std::shared_ptr<wire::Call> call, Operator op)
      : UnaryCall(environment, std::move(call), op, Request::descriptor(), /*field=*/0) {}

 private:
  absl::Status Parse(const ReceivedMessage& message, InlinePayloads* payloads) override {
    return payloads->Parse(message, places().host_pool, &request_);
  }
  const v1::RequestOptions& options() const override { return request_.options(); }
  absl::StatusOr<std::unique_ptr<Operation>> ValidateRequest(const Limits& limits, Places& places) const override {
    return Validate(request_, limits, places);
  }
  Bytes Respond(const Outcome& outcome) const override { return EncodeResponse<Response>(outcome); }

  Request request_;  // without its payloads
};

/// What answers a call, of a class derived from UnaryCall.
template <typename Unary, typename... Arguments>
std::shared_ptr<wire::Handler> BeginUnary(Arguments&&... arguments) {
  auto call = std::make_shared<Unary>(std::forward<Arguments>(arguments)...);
  call->Own(call);
  call->Begin();
  return call;
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CALL_H_
