// Small files of the configuration, and when they change.
#ifndef CORANK_SERVER_SECURITY_READ_FILE_H_
#define CORANK_SERVER_SECURITY_READ_FILE_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace corank {

/// All of a file of at most 16 MiB. INVALID_ARGUMENT with its name and the reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

/// Looks at files from a thread of its own, twice a second by default. It asks for their state by name, so that it sees
/// files that are renamed into place and links that are turned, as Kubernetes does with its secrets.
class FileWatcher {
 public:
  explicit FileWatcher(absl::Duration interval = absl::Milliseconds(500));
  ~FileWatcher();
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

  /// Calls `changed`, on its thread, each time one of the files has changed since now and then stayed the same for an
  /// interval. To be called before the files are read, so that no change is missed; `changed` is not called before
  /// Start.
  void Watch(std::vector<std::string> paths, std::function<void()> changed);
  void Start();

 private:
  // Device, inode, size and times of each file; zeros where there is none.
  using State = std::vector<int64_t>;
  struct Watched {
    std::vector<std::string> paths;
    std::function<void()> changed;
    State known, last_seen;
  };

  static State StateOf(const std::vector<std::string>& paths);
  void Run();

  const absl::Duration interval_;
  std::vector<Watched> watched_;  // not changed by others once the thread runs
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_READ_FILE_H_
