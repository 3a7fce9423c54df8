// A progress line on standard error, for people who wait.
#ifndef CORANK_CLIENT_CLI_PROGRESS_H_
#define CORANK_CLIENT_CLI_PROGRESS_H_

#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "corank/operators.h"

namespace corank::cli {

/// Shows one phase at a time. If the size is known, the line has a bar, bytes per second, elapsed and remaining time;
/// else bytes or elapsed time. The line is cut to the terminal's width, and to 79 characters. A phase shorter than a
/// quarter of a second shows nothing. A separate thread draws. Thread-safe.
class Progress {
 public:
  /// Draws nothing unless `enabled`.
  explicit Progress(bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts a phase of `total_bytes`; 0 if unknown or not counted in bytes.
  void Start(absl::string_view phase, int64_t total_bytes);
  /// Starts the phases of one call, which counts its own bytes: sending, the server's work, receiving.
  void StartCall(const client::TransferProgress* call);
  /// Counts bytes of this phase as done.
  void Add(int64_t bytes);
  /// Ends the phase and clears the line.
  void Stop();

 private:
  void Draw();

  const bool enabled_;
  absl::Mutex mutex_;
  std::string phase_ ABSL_GUARDED_BY(mutex_);  // empty: none
  int64_t total_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t done_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time start_ ABSL_GUARDED_BY(mutex_);
  const client::TransferProgress* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of StartCall
  bool drawn_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // only if enabled_
};

/// The line for a phase at one moment, ASCII. `total_bytes` is 0 if unknown.
std::string ProgressLine(absl::string_view phase, int64_t done_bytes, int64_t total_bytes, absl::Duration elapsed);

/// The line for a call at one moment. Its total counts both directions.
std::string CallProgressLine(const client::TransferProgress& call, absl::Duration elapsed);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_PROGRESS_H_
