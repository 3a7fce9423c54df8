// Threads that take work off those that must not be held up: large payloads are copied by several threads at a time,
// since one copies 5 to 10 GB/s and a call waits for its message's copy, and a lane that has a chunk of an answer
// leaves it to them to write it to the connection.
#ifndef CORANK_SERVER_RPC_HELPERS_H_
#define CORANK_SERVER_RPC_HELPERS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/slice.h"

namespace corank {

/// Thread-safe.
class Helpers {
 public:
  /// Copies of fewer bytes are left to the caller.
  static constexpr int64_t kLeastBytes = int64_t{1} << 20;
  /// What one thread copies at a time.
  static constexpr int64_t kPieceBytes = int64_t{512} << 10;

  explicit Helpers(int count);
  /// Does first what is left to do.
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// As many as are worth while on a machine of `cores`: none where callers and the engine need all of them.
  static int CountFor(int cores);

  /// Does something short soon, in the order of calls where there is one helper; at once where there is none.
  void Run(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

  /// As corank::CopyRange, by the caller and those helpers that are free; all is copied when it returns.
  void CopyRange(const std::vector<grpc::Slice>& slices, int64_t offset, int64_t bytes, void* to)
      ABSL_LOCKS_EXCLUDED(mutex_);

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
