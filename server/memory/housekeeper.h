// Frees unused memory, even when no requests arrive.
#ifndef CORANK_SERVER_MEMORY_HOUSEKEEPER_H_
#define CORANK_SERVER_MEMORY_HOUSEKEEPER_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/memory/array_store.h"
#include "server/memory/host_pool.h"
#include "server/memory/region_registry.h"
#include "server/memory/run_buffers.h"

namespace corank {

/// Every `interval`, on its own thread: trims the pool and the run buffers, drops expired regions and stored arrays,
/// lets idle lanes free memory (`trim_lanes`), and then makes the allocator return free pages. All pointees must
/// outlive it.
class Housekeeper {
 public:
  Housekeeper(HostPool* pool, RunBuffers* run_buffers, RegionRegistry* regions, ArrayStore* arrays,
              std::function<void()> trim_lanes, absl::Duration interval);
  /// Waits for the thread, and therefore for a hanging driver.
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

 private:
  void Keep();

  HostPool* const pool_;
  RunBuffers* const run_buffers_;
  RegionRegistry* const regions_;
  ArrayStore* const arrays_;
  const std::function<void()> trim_lanes_;
  const absl::Duration interval_;
  absl::Mutex mutex_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_HOUSEKEEPER_H_
