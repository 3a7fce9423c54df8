#include "bench/overload/open_loop.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace corank::bench {
namespace {

constexpr size_t kMostFailures = 5;

// What the calls of a loop tell when they end.
class Tally {
 public:
  void Begin() {
    absl::MutexLock lock(&mutex_);
    ++running_;
  }
  void End(Ending ending, const grpc::Status& status, absl::Duration elapsed) {
    absl::MutexLock lock(&mutex_);
    ++result_.calls[static_cast<size_t>(ending)];
    if (ending == Ending::kInTime) result_.latency_us.push_back(absl::ToDoubleMicroseconds(elapsed));
    if (ending == Ending::kRefused && !CarriesRetryInfo(status)) ++result_.refused_without_retry_info;
    if (ending == Ending::kFailed && result_.failures.size() < kMostFailures) {
      result_.failures.push_back(
          absl::StrCat("code ", static_cast<int>(status.error_code()), ": ", status.error_message()));
    }
    --running_;
  }
  OpenLoopResult AwaitAll() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Tally::AllEnded));
    return std::move(result_);
  }

 private:
  bool AllEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_ == 0; }

  absl::Mutex mutex_;
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  OpenLoopResult result_ ABSL_GUARDED_BY(mutex_);
};

// Owns itself until it has ended.
struct OpenCall {
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  absl::Time start;
};

void Send(grpc::GenericStub& stub, const Request& request, const OpenLoop& loop, Tally* tally) {
  tally->Begin();
  auto* const call = new OpenCall;
  call->start = absl::Now();
  call->context.set_deadline(absl::ToChronoTime(call->start + loop.deadline));
  stub.UnaryCall(&call->context, loop.method, {}, &request.message, &call->response,
                 [call, &request, tally, deadline = loop.deadline](const grpc::Status& status) {
                   const absl::Duration elapsed = absl::Now() - call->start;
                   Ending ending = ReadEnding(status, elapsed, deadline);
                   if (ending == Ending::kInTime && !request.is_answer(&call->response)) ending = Ending::kWrong;
                   delete call;
                   tally->End(ending, status, elapsed);
                 });
}

}  // namespace

Ending ReadEnding(const grpc::Status& status, absl::Duration elapsed, absl::Duration deadline) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return elapsed <= deadline ? Ending::kInTime : Ending::kLate;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNAVAILABLE:
      return Ending::kRefused;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return elapsed < deadline ? Ending::kRefused : Ending::kLate;
    default:
      return Ending::kFailed;
  }
}

bool CarriesRetryInfo(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  return std::any_of(details.details().begin(), details.details().end(),
                     [](const google::protobuf::Any& detail) { return detail.Is<google::rpc::RetryInfo>(); });
}

int64_t OpenLoopResult::sent() const { return std::accumulate(calls.begin(), calls.end(), int64_t{0}); }

OpenLoopResult RunOpenLoop(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                           const std::vector<Request>& requests, const OpenLoop& loop) {
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  stubs.reserve(channels.size());
  for (const auto& channel : channels) stubs.push_back(std::make_unique<grpc::GenericStub>(channel));
  std::mt19937_64 random(loop.seed);
  std::exponential_distribution<double> interval(loop.calls_per_second);
  std::uniform_int_distribution<size_t> which(0, requests.size() - 1);
  Tally tally;
  const absl::Time start = absl::Now();
  const absl::Time end = start + loop.duration;
  // Calls begin by the schedule, not by the clock: a generator that was late catches up, as the callers would.
  absl::Time next = start + absl::Seconds(interval(random));
  for (size_t i = 0; next < end; ++i, next += absl::Seconds(interval(random))) {
    if (const absl::Duration early = next - absl::Now(); early > absl::ZeroDuration()) absl::SleepFor(early);
    Send(*stubs[i % stubs.size()], requests[which(random)], loop, &tally);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  OpenLoopResult result = tally.AwaitAll();
  result.seconds = seconds;
  return result;
}

}  // namespace corank::bench
