#include "server/run/canary.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/base/steady_wait.h"

namespace corank {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(50);
constexpr absl::Duration kPulse = absl::Milliseconds(250);
constexpr int64_t kKeys = 1024;

// Rounded up, plus one tick, because the first may follow immediately.
int64_t Ticks(absl::Duration duration) { return (duration + kTick - absl::Nanoseconds(1)) / kTick + 1; }

}  // namespace

absl::StatusOr<std::unique_ptr<Canary>> Canary::Create(const Options& options, Engine* engine, DeviceWatch* watch,
                                                       const Logger* logger, std::function<void(bool good)> on_change) {
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, engine->CreateStream());
  std::unique_ptr<Canary> canary(new Canary(options, std::move(stream), watch, logger, std::move(on_change)));
  if (absl::Status status = canary->SortOnce(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("the first self-test failed: ", status.message()));
  }
  return canary;
}

void Canary::Start() {
  guard_ = std::thread([this] { Guard(); });
  singer_ = std::thread([this] { Sing(); });
}

Canary::Canary(const Options& options, std::unique_ptr<EngineStream> stream, DeviceWatch* watch, const Logger* logger,
               std::function<void(bool good)> on_change)
    : options_(options),
      stream_(std::move(stream)),
      watch_(watch),
      logger_(logger),
      on_change_(std::move(on_change)),
      line_(watch) {}

Canary::~Canary() {
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  if (singer_.joinable()) singer_.join();
  if (guard_.joinable()) guard_.join();
}

bool Canary::SleepUnlessEnded(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  return !AwaitSteadily(&mutex_, absl::Condition(&ended_), duration);
}

absl::Status Canary::SortOnce() {
  std::vector<uint32_t> keys(kKeys);
  for (uint32_t& key : keys) key = seed_ = seed_ * 1664525 + 1013904223;
  const auto bytes = static_cast<int64_t>(keys.size() * sizeof(uint32_t));
  CORANK_RETURN_IF_ERROR(stream_->Begin());
  OperatorReport report;
  ResultBuffer result;
  const absl::Status enqueued = [&]() -> absl::Status {
    CORANK_ASSIGN_OR_RETURN(const void* const d_keys, stream_->Upload(keys.data(), bytes));
    CORANK_ASSIGN_OR_RETURN(result, stream_->AllocateResult(bytes));
    CORANK_RETURN_IF_ERROR(stream_->EndCopyIn());
    SortArgs args;
    args.key_type = KeyType::kUint32;
    args.count = kKeys;
    args.keys_in = d_keys;
    args.keys_out = result.device;
    CORANK_RETURN_IF_ERROR(stream_->Sort(args, &report));
    CORANK_RETURN_IF_ERROR(stream_->EndKernels());
    return stream_->Download(result, bytes);
  }();
  const absl::Status finished = stream_->Finish().status();
  CORANK_RETURN_IF_ERROR(enqueued);
  CORANK_RETURN_IF_ERROR(finished);
  std::sort(keys.begin(), keys.end());
  if (std::memcmp(keys.data(), result.host, static_cast<size_t>(bytes)) == 0) return absl::OkStatus();
  return absl::DataLossError("the device returned wrongly sorted keys");
}

absl::Status Canary::Pulse() {
  CORANK_RETURN_IF_ERROR(stream_->Begin(Pace::kBrief));
  return stream_->Finish().status();
}

absl::Status Canary::Run(absl::Status (Canary::*request)()) {
  {
    absl::MutexLock lock(&mutex_);
    ticks_ = 0;
    runs_ = true;
  }
  line_.Enter();  // also for engines whose streams never count as hanging: this sort is short on any engine
  const absl::Status status = (this->*request)();
  line_.Leave();
  absl::MutexLock lock(&mutex_);
  runs_ = false;
  return status;
}

void Canary::Sing() {
  absl::Duration since = absl::ZeroDuration();
  const absl::Duration step = std::min(kPulse, options_.interval);
  while (!watch_->lost() && SleepUnlessEnded(step)) {
    since += step;
    const bool sorts = since >= options_.interval;
    const absl::Status status = Run(sorts ? &Canary::SortOnce : &Canary::Pulse);
    if (absl::IsResourceExhausted(status)) continue;  // requests use up the memory, which says nothing about the device
    if (!status.ok()) {
      Report(false, status.message());
    } else if (sorts) {
      Report(true, "");
    }
    if (sorts) since = absl::ZeroDuration();
  }
}

void Canary::Guard() {
  const int64_t late = Ticks(options_.timeout);
  const int64_t hangs = options_.hang_timeout == absl::ZeroDuration() ? 0 : Ticks(options_.hang_timeout);
  while (!watch_->lost() && SleepUnlessEnded(kTick)) {
    watch_->Tick(hangs);
    bool is_late = false;
    {
      absl::MutexLock lock(&mutex_);
      is_late = runs_ && ++ticks_ > late;
    }
    if (is_late) Report(false, absl::StrCat("no answer for ", absl::FormatDuration(options_.timeout)));
  }
}

void Canary::Report(bool good, absl::string_view reason) {
  absl::MutexLock lock(&report_mutex_);
  if (good_ == good) return;
  good_ = good;
  if (good) {
    logger_->Log(LogLevel::kInfo, "canary_recovered", {{"device", watch_->ordinal()}});
  } else {
    logger_->Log(LogLevel::kError, "canary_failed", {{"message", std::string(reason)}, {"device", watch_->ordinal()}});
  }
  on_change_(good);
}

}  // namespace corank
