#include "bench/overload/open_loop.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "proto/error_details.h"

namespace corank::bench {
namespace {

constexpr size_t kMostFailures = 5;
constexpr uint64_t kMostThreads = 1024;  // makes seeds differ

std::string InWords(const grpc::Status& status) {
  return absl::StrCat("code ", static_cast<int>(status.error_code()), ": ", status.error_message());
}

// One thread's part of the loop.
class OpenCaller final : public LightCaller {
 public:
  OpenCaller(const std::vector<Request>* requests, const OpenLoop* loop, double calls_per_second, absl::Time start,
             uint64_t seed)
      : requests_(*requests),
        loop_(*loop),
        start_(start),
        random_(seed),
        interval_(calls_per_second),
        which_(0, requests->size() - 1),
        next_(start + absl::Seconds(interval_(random_))) {}

  absl::Time due() const override { return next_ < start_ + loop_.duration ? next_ : absl::InfinitePast(); }
  Call Next() override {
    next_ += absl::Seconds(interval_(random_));
    result.seconds = absl::ToDoubleSeconds(absl::Now() - start_);
    return {&requests_[which_(random_)].message, loop_.deadline};
  }
  void OnAnswer(const LightAnswer& answer) override {
    Ending ending = ReadEnding(answer.status, answer.is_of_server, answer.elapsed, loop_.deadline);
    if (ending == Ending::kInTime && !RequestOf(answer).is_answer(answer.message)) ending = Ending::kWrong;
    ++result.calls[static_cast<size_t>(ending)];
    if (ending == Ending::kInTime) result.latency_us.push_back(absl::ToDoubleMicroseconds(answer.elapsed));
    if (ending == Ending::kRefused && !CarriesRetryInfo(answer.status)) {
      ++result.refused_without_retry_info;
      result.without_retry_info = InWords(answer.status);
    }
    if (ending == Ending::kFailed && result.failures.size() < kMostFailures) {
      result.failures.push_back(InWords(answer.status));
    }
  }

  OpenLoopResult result;

 private:
  const Request& RequestOf(const LightAnswer& answer) const {
    return *std::find_if(requests_.begin(), requests_.end(),
                         [&answer](const Request& request) { return &request.message == answer.request; });
  }

  const std::vector<Request>& requests_;
  const OpenLoop& loop_;
  const absl::Time start_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> interval_;
  std::uniform_int_distribution<size_t> which_;
  absl::Time next_;
};

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

OpenLoopResult RunOpenLoop(LightClient& client, const std::vector<Request>& requests, const OpenLoop& loop) {
  const absl::Time start = absl::Now();
  const int threads = client.threads();
  std::vector<std::unique_ptr<LightCaller>> callers;
  for (int thread = 0; thread < threads; ++thread) {
    callers.push_back(std::make_unique<OpenCaller>(&requests, &loop, loop.calls_per_second / threads, start,
                                                   loop.seed * kMostThreads + static_cast<uint64_t>(thread)));
  }
  client.Run(callers);
  OpenLoopResult total;
  for (const auto& caller : callers) total.Add(static_cast<OpenCaller&>(*caller).result);
  total.seconds = std::max(total.seconds, absl::ToDoubleSeconds(loop.duration));
  return total;
}

}  // namespace corank::bench
