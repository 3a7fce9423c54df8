#include "bench/overload/open_loop.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "proto/error_details.h"

namespace corank::bench {
namespace {

constexpr size_t kMostFailures = 5;
constexpr uint64_t kMostSenders = 1024;  // makes seeds differ

std::string InWords(const grpc::Status& status) {
  return absl::StrCat("code ", static_cast<int>(status.error_code()), ": ", status.error_message());
}

// Collects the outcomes of a loop's calls.
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
    if (ending == Ending::kRefused && !CarriesRetryInfo(status)) {
      ++result_.refused_without_retry_info;
      result_.without_retry_info = InWords(status);
    }
    if (ending == Ending::kFailed && result_.failures.size() < kMostFailures) {
      result_.failures.push_back(InWords(status));
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

// Owns itself until the call has ended.
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
                   const bool is_of_server = !call->context.GetServerTrailingMetadata().empty();  // x-request-id
                   Ending ending = ReadEnding(status, is_of_server, elapsed, deadline);
                   if (ending == Ending::kInTime && !request.is_answer(&call->response)) ending = Ending::kWrong;
                   delete call;
                   tally->End(ending, status, elapsed);
                 });
}

// One sender's part of the loop. Each sender starts on a different channel.
OpenLoopResult SendAll(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                       const std::vector<Request>& requests, const OpenLoop& loop, absl::Time start, size_t sender) {
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  stubs.reserve(channels.size());
  for (const auto& channel : channels) stubs.push_back(std::make_unique<grpc::GenericStub>(channel));
  std::mt19937_64 random(loop.seed * kMostSenders + sender);
  std::exponential_distribution<double> interval(loop.calls_per_second / loop.senders);
  std::uniform_int_distribution<size_t> which(0, requests.size() - 1);
  Tally tally;
  const absl::Time end = start + loop.duration;
  absl::Time next = start + absl::Seconds(interval(random));
  for (size_t i = sender; next < end; ++i, next += absl::Seconds(interval(random))) {
    if (const absl::Duration early = next - absl::Now(); early > absl::ZeroDuration()) absl::SleepFor(early);
    Send(*stubs[i % stubs.size()], requests[which(random)], loop, &tally);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  OpenLoopResult result = tally.AwaitAll();
  result.seconds = seconds;
  return result;
}

}  // namespace

Ending ReadEnding(const grpc::Status& status, bool is_of_server, absl::Duration elapsed, absl::Duration deadline) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return elapsed <= deadline ? Ending::kInTime : Ending::kLate;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNAVAILABLE:
      return Ending::kRefused;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      if (!is_of_server || elapsed >= deadline) return Ending::kLate;
      return elapsed < deadline / 2 || CarriesRetryInfo(status) ? Ending::kRefused : Ending::kLate;
    default:
      return Ending::kFailed;
  }
}

bool CarriesRetryInfo(const grpc::Status& status) {
  wire::v1::RpcStatus details;
  if (!details.ParseFromString(status.error_details())) return false;
  return std::any_of(details.details().begin(), details.details().end(),
                     [](const google::protobuf::Any& detail) { return detail.type_url() == kRetryInfoUrl; });
}

int64_t OpenLoopResult::sent() const { return std::accumulate(calls.begin(), calls.end(), int64_t{0}); }

void OpenLoopResult::Add(const OpenLoopResult& other) {
  for (size_t i = 0; i < calls.size(); ++i) calls[i] += other.calls[i];
  refused_without_retry_info += other.refused_without_retry_info;
  if (without_retry_info.empty()) without_retry_info = other.without_retry_info;
  seconds = std::max(seconds, other.seconds);
  latency_us.insert(latency_us.end(), other.latency_us.begin(), other.latency_us.end());
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

OpenLoopResult RunOpenLoop(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                           const std::vector<Request>& requests, const OpenLoop& loop) {
  std::vector<OpenLoopResult> results(static_cast<size_t>(loop.senders));
  const absl::Time start = absl::Now();
  std::vector<std::thread> threads;
  for (size_t sender = 0; sender < results.size(); ++sender) {
    threads.emplace_back([&, sender] { results[sender] = SendAll(channels, requests, loop, start, sender); });
  }
  for (std::thread& thread : threads) thread.join();
  OpenLoopResult total;
  for (const OpenLoopResult& result : results) total.Add(result);
  return total;
}

}  // namespace corank::bench
