// Reads small configuration files and detects their changes.
#ifndef CORANK_SERVER_SECURITY_READ_FILE_H_
#define CORANK_SERVER_SECURITY_READ_FILE_H_

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"

namespace corank {

/// The contents of a file of at most 16 MiB. INVALID_ARGUMENT with its name and the reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

/// Checks files on its own thread. It checks by name, so it notices files that are renamed into place and links that
/// change, as with Kubernetes secrets.
class FileWatcher {
 public:
  struct Options {
    /// Time between checks, by the machine's clock.
    absl::Duration interval = absl::Milliseconds(500);
    /// Rejected files are offered again after this time, by `clock`.
    std::chrono::nanoseconds retry = std::chrono::minutes(1);
    const Clock* clock = &Clock::Steady();  // outlives the watcher
  };

  FileWatcher() : FileWatcher(Options()) {}
  explicit FileWatcher(const Options& options) : options_(options) {}
  ~FileWatcher();
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

  /// Calls `changed`, on its thread, each time that one of the files has changed since now and then stayed the same for
  /// an interval. If it returns false, the files are invalid, and it is called again after each `retry` until they are
  /// valid: a certificate may become valid, or a disk readable, without a change of the file. Call Watch before reading
  /// the files, so that no change is missed; `changed` is not called before Start.
  void Watch(std::vector<std::string> paths, std::function<bool()> changed);
  void Start();

 private:
  // Device, inode, size and times of each file; zeros if there is no file.
  using State = std::vector<int64_t>;
  struct Watched {
    std::vector<std::string> paths;
    std::function<bool()> changed;
    State known, last_seen;
    Instant retry_at = kForever;
  };

  static State StateOf(const std::vector<std::string>& paths);
  void Run();

  const Options options_;
  std::vector<Watched> watched_;  // constant once the thread runs
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_READ_FILE_H_
