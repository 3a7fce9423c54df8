// Threads for what must not hold up the loops of connections: opening, mapping and copying memory, and waking calls.
#ifndef CORANK_SERVER_RPC_HELPERS_H_
#define CORANK_SERVER_RPC_HELPERS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
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

  /// Runs something soon for this tenant, in call order if there is one helper; at once if there is none. Tenants take
  /// turns, and one has at most half of the helpers: what it waits for holds up nobody else.
  void Run(const std::string& tenant, std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);
  /// The same for tasks without a budget. False: kMostWaiting tasks of the tenant wait.
  bool TryRun(const std::string& tenant, std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);
  static constexpr size_t kMostWaiting = 256;

 private:
  using Task = std::function<void()>;
  // A tenant with tasks that wait or run.
  struct Line {
    std::deque<Task> waiting;
    int running = 0;
  };
  using Lines = std::map<std::string, Line>;

  void Help() ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(Line& line, Task task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRun(const Line& line) const { return !line.waiting.empty() && line.running < most_of_tenant_; }
  // The tenant whose turn it is; the end: nobody's task may run now.
  Lines::iterator Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int most_of_tenant_;
  absl::Mutex mutex_;
  absl::CondVar wanted_;
  Lines lines_ ABSL_GUARDED_BY(mutex_);
  std::string last_ ABSL_GUARDED_BY(mutex_);  // the tenant that had the last turn
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_HELPERS_H_
