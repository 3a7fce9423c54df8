#include "client/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
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
constexpr size_t kMostCharacters = 79;

/// One less than the terminal's width: a line that fills the last column may wrap, and the next line is never cleared.
/// Read for each frame, because people resize terminals.
size_t LineCharacters() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kMostCharacters;
  return std::min<size_t>(kMostCharacters, size.ws_col - 1);
}

}  // namespace

std::string ProgressLine(absl::string_view phase, int64_t done_bytes, int64_t total_bytes, absl::Duration elapsed) {
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-9);
  const double rate = static_cast<double>(done_bytes) / seconds;
  std::string line = absl::StrFormat("%-9s", phase);
  if (total_bytes > 0) {
    constexpr int kWidth = 20;
    const double fraction = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    const int filled = static_cast<int>(fraction * kWidth);
    absl::StrAppendFormat(&line, " [%s%s] %3.0f %%", std::string(filled, '#'), std::string(kWidth - filled, '.'),
                          fraction * 100);
  }
  if (done_bytes > 0) {
    absl::StrAppend(&line, "  ", BytesText(static_cast<double>(done_bytes)), "  ", BytesText(rate), "/s");
  }
  absl::StrAppendFormat(&line, "  %.1f s", seconds);
  if (total_bytes > 0 && done_bytes > 0 && done_bytes < total_bytes) {
    absl::StrAppendFormat(&line, ", %.0f s left", std::ceil(static_cast<double>(total_bytes - done_bytes) / rate));
  }
  return line;
}

std::string CallProgressLine(const client::TransferProgress& call, absl::Duration elapsed) {
  const int64_t sent = call.bytes_sent, received = call.bytes_received;
  const bool is_sending = sent < call.bytes_to_send;
  std::string phase = received > 0 ? "receiving" : is_sending ? "sending" : "server";
  if (call.attempt > 1) phase = absl::StrCat(call.is_waiting ? "waiting for try " : "try ", call.attempt.load());
  return ProgressLine(phase, sent + received, call.bytes_to_send + call.bytes_to_receive, elapsed);
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

void Progress::StartCall(const client::TransferProgress* call) {
  Start("server", 0);
  absl::MutexLock lock(&mutex_);
  call_ = call;
}

void Progress::Add(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  done_bytes_ += bytes;
}

void Progress::Stop() {
  absl::MutexLock lock(&mutex_);
  phase_.clear();
  call_ = nullptr;
  if (drawn_) std::fputs(kClearLine, stderr);
  drawn_ = false;
}

void Progress::Draw() {
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kFrame)) {
    const absl::Duration elapsed = absl::Now() - start_;
    if (phase_.empty() || elapsed < kQuiet) continue;
    const std::string line =
        call_ != nullptr ? CallProgressLine(*call_, elapsed) : ProgressLine(phase_, done_bytes_, total_bytes_, elapsed);
    absl::FPrintF(stderr, "%s%s", kClearLine, line.substr(0, LineCharacters()));
    std::fflush(stderr);
    drawn_ = true;
  }
}

}  // namespace corank::cli
