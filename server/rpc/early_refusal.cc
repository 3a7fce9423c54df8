#include "server/rpc/early_refusal.h"

#include <chrono>

#include "absl/time/time.h"
#include "server/base/errors.h"

namespace corank {
namespace {

// Callers with shorter timeouts are told that their deadlines have passed.
constexpr std::chrono::milliseconds kShortWait(1);
// Part of the timeout that is left for the work, the answer's way, and what the estimate of the wait lacks.
constexpr int kPartLeft = 4;
// Part of the timeout that a call may wait for its turn on its loop. Short, so that those that are taken are answered
// in time.
constexpr int kMostWait = 4;

class NoHandler final : public wire::Handler {
 public:
  wire::Sink* OnMessageBegin(size_t) override { return nullptr; }
  void OnMessage() override {}
  void OnHalfClose() override {}
  void OnCancel(const CallStatus&) override {}
  void OnDone() override {}
};

}  // namespace

bool HasWaitedTooLong(const wire::CallHead& call, Instant now) {
  if (call.deadline == kForever || now - call.arrival < kShortWait) return false;
  return call.deadline - now < (call.deadline - call.arrival) / kPartLeft;
}

bool WouldWaitTooLong(const wire::CallHead& call, std::chrono::nanoseconds wait) {
  return call.deadline != kForever && wait > kShortWait && wait > (call.deadline - call.arrival) / kMostWait;
}

const CallStatus& WaitedTooLong() {
  static const CallStatus& status = *new CallStatus(
      ToCallStatus(RetryLater(v1::ERROR_REASON_DEADLINE_UNREACHABLE,
                              "the server is too busy to answer in time; allow more time, or try again later",
                              absl::Milliseconds(50)),
                   ""));
  return status;
}

std::shared_ptr<wire::Handler> RefuseIfLate(wire::Call& call, std::optional<Operator> op, Metrics* metrics) {
  const Instant now = std::chrono::steady_clock::now();
  if (!HasWaitedTooLong(call.head(), now) && !WouldWaitTooLong(call.head(), call.Wait())) return nullptr;
  metrics->CountRefusal(Refusal::kLate);
  if (op) {
    RequestRecord record;
    record.op = *op;
    record.code = absl::StatusCode::kDeadlineExceeded;
    record.total_ns = Nanoseconds(call.head().arrival, now);
    metrics->CountRequest(record);
  }
  call.Finish(WaitedTooLong());
  static const auto& nothing = *new std::shared_ptr<wire::Handler>(std::make_shared<NoHandler>());
  return nothing;
}

}  // namespace corank
