// corank.v1.MemoryService: registered regions and stored arrays.
#ifndef CORANK_SERVER_RPC_MEMORY_SERVICE_H_
#define CORANK_SERVER_RPC_MEMORY_SERVICE_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kernels/engine/budget.h"
#include "server/base/bytes.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/plan/request_places.h"
#include "server/rpc/active_calls.h"
#include "server/rpc/credentials.h"
#include "server/rpc/gate.h"
#include "server/rpc/helpers.h"
#include "server/rpc/methods.h"
#include "server/rpc/small_message.h"
#include "server/rpc/tenant_rates.h"
#include "server/security/authenticator.h"
#include "server/security/caller.h"
#include "server/wire/call.h"

namespace corank {

/// Objects and limits that the calls of the service share. The pointees outlive all calls.
struct MemoryEnvironment {
  SharedPlaces places;
  const Logger* logger = nullptr;
  int64_t max_chunk_bytes = 0;
  /// Counts StoreArray and FetchArray, which a draining server finishes. Leases do not count.
  ActiveCalls* active_calls = nullptr;
  /// When closed, nothing more is registered, stored or fetched; existing arrays and regions can still be listed and
  /// released.
  const Gate* gate = nullptr;
  Metrics* metrics = nullptr;
  /// Null: calls are anonymous.
  const Authenticator* authenticator = nullptr;
  /// Bounds messages that have not come whole, beside their arrays.
  Budget* buffered = nullptr;
  /// Short calls end after this long, whatever the driver or the system is doing for them.
  std::chrono::nanoseconds most_time = std::chrono::minutes(5);
  const Clock* clock = &Clock::Steady();
  /// Null: no limit.
  TenantRates* rates = nullptr;

  /// Counts a call that registers, stores or fetches. RESOURCE_EXHAUSTED or UNAVAILABLE, with RetryInfo: the caller's
  /// tenant makes too many, or the gate is closed.
  absl::Status Admit(const Caller& caller) const;
};

/// The caller, or the reason for refusing it.
using FoundCaller = absl::StatusOr<std::shared_ptr<const Caller>>;

/// Ends a call of the service, with `response` if it is OK: counts it as `operation` and puts a request id, under which
/// the log describes a fault, into the trailing metadata.
void EndCall(const MemoryEnvironment& environment, wire::Call* call, absl::string_view operation,
             const FoundCaller& caller, const absl::Status& status, std::optional<Bytes> response = std::nullopt);

/// Finds the caller of a call, or why it is refused.
using CallerFinder = std::function<FoundCaller(const wire::CallHead&)>;

/// The caller of a call that registers memory; an error if it lacks the permission or is not admitted.
FoundCaller MayRegister(const MemoryEnvironment& environment, const wire::CallHead& call,
                        absl::Status (*permission)(const Caller&));

/// RESOURCE_EXHAUSTED with RetryInfo: too many of the tenant's calls wait for helpers.
absl::Status TooManyWait();

/// Adds a method of `service` that is answered with what `work` returns, a StatusOr of the response, given its Caller
/// and Request, and a RegionRegistry::Wanted if it takes one. Does not read the message if `find` has no caller, nor
/// call `work` if the message is invalid. `work` may wait: a call ends at its deadline, and after most_time, although
/// its work goes on. `environment` outlives the method.
template <typename Request, typename Work>
void AddUnary(Methods* methods, absl::string_view service, absl::string_view method, absl::string_view operation,
              const MemoryEnvironment& environment, CallerFinder find, const Work& work) {
  methods->Add(service, method, [&environment, operation, find = std::move(find), work](const auto& call) {
    const auto caller = std::make_shared<const FoundCaller>(find(call->head()));
    auto is_over = std::make_shared<std::atomic<bool>>(false);
    call->LimitTime(environment.most_time);
    // What ends the call first counts: its answer, or its time.
    const auto end = [&environment, operation, caller, call, is_over](const absl::Status& status,
                                                                      std::optional<Bytes> response = std::nullopt) {
      if (is_over->exchange(true)) return;
      EndCall(environment, call.get(), operation, *caller, status, std::move(response));
    };
    auto take = [&environment, end, caller, work, call, is_over](absl::StatusOr<std::string> bytes) {
      if (!bytes.ok()) return end(bytes.status());
      Request message;
      if (const absl::Status parsed = ParseSmall(*bytes, &message); !parsed.ok()) return end(parsed);
      const auto answer = [end, caller, work, call, is_over, message = std::move(message)] {
        // It may have waited for others of its tenant.
        if (call->head().deadline <= Clock::Steady().Now()) end(DeadlinePassed());
        if (*is_over) return;
        const auto answered = [&] {
          if constexpr (std::is_invocable_v<Work, const Caller&, const Request&, const RegionRegistry::Wanted&>) {
            return work(***caller, message, [is_over] { return !*is_over; });
          } else {
            return work(***caller, message);
          }
        }();
        std::optional<Bytes> response;
        if (answered.ok()) response = SmallBytes(*answered);
        end(answered.status(), std::move(response));
      };
      if (!environment.places.helpers->TryRun((**caller)->tenant, answer)) end(TooManyWait());
    };
    return AnswerSmall(call, caller->status(), std::move(take), [end](const absl::Status& cause) { end(cause); });
  });
}

/// Thread-safe. Mapping, pinning and allocating run on helpers; nothing waits for a lane.
class MemoryServiceImpl {
 public:
  explicit MemoryServiceImpl(const MemoryEnvironment& environment) : environment_(environment) {}

  /// Adds the service's methods. It outlives them.
  void AddTo(Methods* methods);

 private:
  FoundCaller Anybody(const wire::CallHead& call) const { return CallerOf(environment_.authenticator, call); }
  // The caller; an error if it may not open a lease.
  FoundCaller MayLease(const wire::CallHead& call) const;
  // The caller; an error if it may not use stored arrays or they are off.
  FoundCaller MayUseStore(const wire::CallHead& call) const;
  FoundCaller MayMove(const wire::CallHead& call) const;  // also checks that new transfers are taken

  const MemoryEnvironment environment_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_MEMORY_SERVICE_H_
