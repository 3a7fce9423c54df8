// Threads that take over work from threads that must not be delayed. Several threads copy a large payload together,
// since one copies 5 to 10 GB/s and the call waits for the copy. A lane that has a chunk of an answer lets a helper
// write it to the connection.
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
  /// The caller alone makes copies of fewer bytes.
  static constexpr int64_t kLeastBytes = int64_t{1} << 20;
  /// Bytes that one thread copies at a time.
  static constexpr int64_t kPieceBytes = int64_t{512} << 10;

  explicit Helpers(int count);
  /// Finishes outstanding work first.
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// A sensible number for a machine with `cores` cores: none if callers and the engine need all of them.
  static int CountFor(int cores);

  /// Runs something short soon, in call order if there is one helper; at once if there is none.
  void Run(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

  /// As corank::CopyRange, by the caller and all idle helpers. Everything is copied when it returns.
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
