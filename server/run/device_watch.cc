#include "server/run/device_watch.h"

#include <algorithm>

#include "absl/time/time.h"
#include "server/base/errors.h"

namespace corank {
namespace {

constexpr absl::Duration kRestartRetry = absl::Seconds(5);
constexpr absl::Duration kOthersRetry = absl::Milliseconds(100);

}  // namespace

absl::Status DeviceLost(bool has_others) {
  return has_others ? RetryLater(v1::ERROR_REASON_DEVICE_LOST,
                                 "the server lost the device of this request; its other devices work", kOthersRetry)
                    : RetryLater(v1::ERROR_REASON_DEVICE_LOST, "the server lost its device", kRestartRetry);
}

void DeviceWatch::Lose(const std::string& reason) {
  if (lost_.exchange(true)) return;
  logger_->Log(LogLevel::kError, "device_lost", {{"message", reason}, {"device", options_.ordinal}});
  on_lost_(reason);
}

absl::Status DeviceWatch::Judge(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      Lose(std::string(status.message()));
      return Lost();
    case absl::StatusCode::kResourceExhausted:
      if (ReasonOf(status) != v1::ERROR_REASON_UNSPECIFIED) return status;
      logger_->Log(LogLevel::kWarning, "memory_short", {{"message", std::string(status.message())}});
      return DeviceMemoryFull();
    default:
      return status;
  }
}

void DeviceWatch::Tick(int64_t hang_ticks) {
  const int64_t now = now_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (hang_ticks == 0) return;
  const auto hangs = [now, hang_ticks](const Line* line) {
    const int64_t entered = line->entered_.load(std::memory_order_relaxed);
    return entered != Line::kIdle && now - entered > hang_ticks;
  };
  bool any = false;
  {
    absl::MutexLock lock(&mutex_);
    any = std::any_of(lines_.begin(), lines_.end(), hangs);
  }
  if (any) Lose("a call to the engine does not return");
}

void DeviceWatch::Add(Line* line) {
  absl::MutexLock lock(&mutex_);
  lines_.insert(line);
}

void DeviceWatch::Remove(Line* line) {
  absl::MutexLock lock(&mutex_);
  lines_.erase(line);
}

}  // namespace corank
