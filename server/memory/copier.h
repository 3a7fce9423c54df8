// Copies between host memory and device memory outside of lanes.
#ifndef CORANK_SERVER_MEMORY_COPIER_H_
#define CORANK_SERVER_MEMORY_COPIER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/engine/engine.h"

namespace corank {

/// For a few megabytes at a time: a call waits until its copy is done, tens of microseconds on a GPU. A separate thread
/// does the copies one by one, so that callers, which serve gRPC, do not get stuck in a hanging device. Thread-safe.
class Copier {
 public:
  /// Most time for one call; far more than the copies of all callers need together.
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  /// The engine must outlive the copier.
  static absl::StatusOr<std::unique_ptr<Copier>> Create(Engine* engine, absl::Duration patience = kPatience);
  /// Waits for a copy in progress.
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// Copies `bytes` bytes. UNAVAILABLE with RetryInfo if that takes too long, and at once while such a late copy is
  /// unfinished; the late copy continues with the memory, which it owns together with the caller. Otherwise the
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

  const std::unique_ptr<EngineStream> stream_;  // used by the thread
  const absl::Duration patience_;
  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Copy>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_late_ ABSL_GUARDED_BY(mutex_) = false;  // a caller gave up and its copy has not ended
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_COPIER_H_
