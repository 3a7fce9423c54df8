// One unary call of an operator, from the arrival of its request to the end of its response.
#ifndef CORANK_SERVER_RPC_CALL_H_
#define CORANK_SERVER_RPC_CALL_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/admit/admission_queue.h"
#include "server/execute/task.h"
#include "server/observe/clock.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/respond/responses.h"
#include "server/rpc/active_calls.h"
#include "server/validate/validate.h"

namespace corank {

/// What every call needs. The pointees outlive all calls.
struct CallEnvironment {
  Limits limits;
  const Clock* clock = nullptr;
  Metrics* metrics = nullptr;
  const Logger* logger = nullptr;
  AdmissionQueue* queue = nullptr;
  ActiveCalls* active_calls = nullptr;
};

/// Owns itself: gRPC calls OnDone when nothing of the call is left, and the call then deletes itself.
class CallBase : public grpc::ServerUnaryReactor, public Completion {
 public:
  CallBase(const CallEnvironment* environment, grpc::CallbackServerContext* context, Operator op);

  /// Validates the request and hands it to the queue, or answers at once. Never waits.
  void Start(const v1::RequestOptions& options, int64_t request_bytes);

  void Done(const absl::Status& status, Outcome& outcome) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  virtual absl::StatusOr<std::unique_ptr<Operation>> ValidateRequest() const = 0;
  /// Fills the response and returns its bytes.
  virtual int64_t Respond(Outcome& outcome) = 0;

 private:
  absl::Status Submit(const v1::RequestOptions& options, int64_t request_bytes);
  void Reply(const absl::Status& status, Outcome& outcome);
  void LogFailure(const absl::Status& status) const;

  const CallEnvironment& environment_;
  grpc::CallbackServerContext* const context_;
  const Instant arrival_;
  Instant validated_;
  Instant replied_;
  std::atomic<bool> cancelled_{false};
  std::string request_id_;
  RequestRecord record_;
};

template <typename Request, typename Response>
class Call final : public CallBase {
 public:
  Call(const CallEnvironment* environment, grpc::CallbackServerContext* context, Operator op, const Request* request,
       Response* response)
      : CallBase(environment, context, op), limits_(environment->limits), request_(request), response_(response) {}

 private:
  absl::StatusOr<std::unique_ptr<Operation>> ValidateRequest() const override { return Validate(*request_, limits_); }
  int64_t Respond(Outcome& outcome) override {
    FillResponse(outcome, response_);
    return static_cast<int64_t>(response_->ByteSizeLong());
  }

  const Limits& limits_;
  const Request* const request_;
  Response* const response_;
};

/// Starts a call; gRPC takes the reactor.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* StartCall(const CallEnvironment* environment, grpc::CallbackServerContext* context,
                                    Operator op, const Request* request, Response* response) {
  auto* call = new Call<Request, Response>(environment, context, op, request, response);
  call->Start(request->options(), static_cast<int64_t>(request->ByteSizeLong()));
  return call;
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_CALL_H_
