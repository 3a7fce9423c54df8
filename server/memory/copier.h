// Copies between host memory and device memory outside of lanes.
#ifndef CORANK_SERVER_MEMORY_COPIER_H_
#define CORANK_SERVER_MEMORY_COPIER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/engine.h"

namespace corank {

/// For pieces of a few megabytes: a call waits until its copy is done, tens of microseconds on a GPU. Thread-safe, one
/// copy at a time.
class Copier {
 public:
  /// The engine must outlive the copier.
  static absl::StatusOr<std::unique_ptr<Copier>> Create(Engine* engine);

  absl::Status ToDevice(void* d_to, const void* h_from, int64_t bytes);
  absl::Status ToHost(void* h_to, const void* d_from, int64_t bytes);

 private:
  explicit Copier(std::unique_ptr<EngineStream> stream) : stream_(std::move(stream)) {}

  absl::Mutex mutex_;
  const std::unique_ptr<EngineStream> stream_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_COPIER_H_
