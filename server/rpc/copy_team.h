// Threads that help to copy large payloads out of gRPC's slices: one thread copies 5 to 10 GB/s, and the answer to a
// message waits for its copy.
#ifndef CORANK_SERVER_RPC_COPY_TEAM_H_
#define CORANK_SERVER_RPC_COPY_TEAM_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/slice.h"

namespace corank {

/// Thread-safe.
class CopyTeam {
 public:
  /// Copies of fewer bytes are left to the caller.
  static constexpr int64_t kLeastBytes = int64_t{1} << 20;
  /// What one thread copies at a time.
  static constexpr int64_t kPieceBytes = int64_t{512} << 10;

  explicit CopyTeam(int helpers);
  /// No copy is in progress.
  ~CopyTeam();
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;

  /// As many helpers as are worth while on a machine of `cores`: none where callers and the engine need all of them.
  static int HelpersFor(int cores);

  /// As corank::CopyRange, by the caller and those helpers that are free; all is copied when it returns.
  void CopyRange(const std::vector<grpc::Slice>& slices, int64_t offset, int64_t bytes, void* to)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Job;

  void Help() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  absl::CondVar wanted_;
  std::deque<std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_COPY_TEAM_H_
