// Threads for what must not hold up the loops of connections: opening, mapping and copying memory, and waking calls.
#ifndef CORANK_SERVER_RPC_HELPERS_H_
#define CORANK_SERVER_RPC_HELPERS_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace corank {

/// Thread-safe.
class Helpers {
 public:
  explicit Helpers(int count);
  /// Finishes outstanding work first.
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// A sensible number for a machine with `cores` cores.
  static int CountFor(int cores);

  /// Runs something soon, in call order if there is one helper; at once if there is none.
  void Run(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Help() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  absl::CondVar wanted_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_HELPERS_H_
