// Writes lines to a pipe whose reader may stop reading.
#ifndef CORANK_SERVER_OBSERVE_LINE_WRITER_H_
#define CORANK_SERVER_OBSERVE_LINE_WRITER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace corank {

/// Thread-safe. A line without room waits up to `patience` and is then lost. After a lost line, further lines without
/// room are lost immediately. A stalled reader therefore delays its writers once, not all their work.
class LineWriter {
 public:
  /// Makes the line, newline included, that reports lost lines before the next written line.
  using Notice = std::function<std::string(int64_t lost_lines)>;

  /// The descriptor must stay open while this exists.
  LineWriter(int descriptor, absl::Duration patience, Notice notice);

  /// Writes a whole line, newline included.
  void Write(absl::string_view line);

  /// Lines that were not written completely so far.
  int64_t lost() const { return lost_; }

 private:
  bool HasRoom(absl::Duration patience) const;
  bool Put(absl::string_view line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int descriptor_;
  const absl::Duration patience_;
  const Notice notice_;
  std::atomic<int64_t> lost_{0};
  absl::Mutex mutex_;
  int64_t told_ ABSL_GUARDED_BY(mutex_) = 0;       // lost lines that a notice has reported
  bool is_stuck_ ABSL_GUARDED_BY(mutex_) = false;  // the last line was lost
  bool is_cut_ ABSL_GUARDED_BY(mutex_) = false;    // the last output has no newline
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_LINE_WRITER_H_
