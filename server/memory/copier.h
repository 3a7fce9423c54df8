// Copies between host memory and device memory outside of lanes.
#ifndef CORANK_SERVER_MEMORY_COPIER_H_
#define CORANK_SERVER_MEMORY_COPIER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/engine/engine.h"

namespace corank {

/// For pieces of a few megabytes: a call waits until its copy is done, tens of microseconds on a GPU. The copies are
/// done one by one on a thread of their own, so that callers, who serve gRPC, do not wait with a device that hangs.
/// Thread-safe.
class Copier {
 public:
  /// Of a call. Far more than the copies of all callers take together.
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  /// The engine must outlive the copier.
  static absl::StatusOr<std::unique_ptr<Copier>> Create(Engine* engine, absl::Duration patience = kPatience);
  /// Waits for a copy that was begun.
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// Of `bytes` bytes. UNAVAILABLE with RetryInfo where that is not done in time, and at once for as long as such a
  /// copy has not ended; until then it goes on with the memory, which it owns together with the caller. Otherwise the
  /// engine's errors.
  absl::Status ToDevice(std::shared_ptr<void> d_to, std::shared_ptr<const void> h_from, int64_t bytes);
  absl::Status ToHost(std::shared_ptr<void> h_to, std::shared_ptr<const void> d_from, int64_t bytes);

 private:
  struct Copy {
    bool to_device = false;
    std::shared_ptr<void> to;
    std::shared_ptr<const void> from;
    int64_t bytes = 0;
    bool is_done = false;
    absl::Status status = absl::OkStatus();
  };

  Copier(std::unique_ptr<EngineStream> stream, absl::Duration patience);

  absl::Status Wait(Copy copy) ABSL_LOCKS_EXCLUDED(mutex_);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Do(const Copy& copy);

  const std::unique_ptr<EngineStream> stream_;  // of the thread
  const absl::Duration patience_;
  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Copy>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_late_ ABSL_GUARDED_BY(mutex_) = false;  // somebody gave up; the copy that he waited for has not ended
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_COPIER_H_
