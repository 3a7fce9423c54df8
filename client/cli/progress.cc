#include "client/cli/progress.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

constexpr absl::Duration kQuiet = absl::Milliseconds(250);
constexpr absl::Duration kFrame = absl::Milliseconds(100);
constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

std::string ProgressLine(absl::string_view phase, int64_t done_bytes, int64_t total_bytes, absl::Duration elapsed) {
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-9);
  std::string line = absl::StrFormat("%-9s", phase);
  if (total_bytes > 0) {
    constexpr int kWidth = 20;
    const double fraction = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    const int filled = static_cast<int>(fraction * kWidth);
    absl::StrAppendFormat(&line, " [%s%s] %3.0f %%", std::string(filled, '#'), std::string(kWidth - filled, '.'),
                          fraction * 100);
  }
  if (done_bytes > 0) {
    absl::StrAppend(&line, "  ", BytesText(static_cast<double>(done_bytes)), "  ",
                    BytesText(static_cast<double>(done_bytes) / seconds), "/s");
  }
  absl::StrAppendFormat(&line, "  %.1f s", seconds);
  return line.substr(0, 79);
}

Progress::Progress(bool enabled) : enabled_(enabled) {
  if (enabled_) thread_ = std::thread([this] { Draw(); });
}

Progress::~Progress() {
  Stop();
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Progress::Start(absl::string_view phase, int64_t total_bytes) {
  Stop();
  absl::MutexLock lock(&mutex_);
  phase_ = std::string(phase);
  total_bytes_ = total_bytes;
  done_bytes_ = 0;
  start_ = absl::Now();
}

void Progress::Add(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  done_bytes_ += bytes;
}

void Progress::Stop() {
  absl::MutexLock lock(&mutex_);
  phase_.clear();
  if (drawn_) std::fputs(kClearLine, stderr);
  drawn_ = false;
}

void Progress::Draw() {
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kFrame)) {
    const absl::Duration elapsed = absl::Now() - start_;
    if (phase_.empty() || elapsed < kQuiet) continue;
    absl::FPrintF(stderr, "%s%s", kClearLine, ProgressLine(phase_, done_bytes_, total_bytes_, elapsed));
    std::fflush(stderr);
    drawn_ = true;
  }
}

}  // namespace corank::cli
