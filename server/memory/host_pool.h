// Pinned host memory that requests share: payloads wait there for a lane, and results are sent from there.
#ifndef CORANK_SERVER_MEMORY_HOST_POOL_H_
#define CORANK_SERVER_MEMORY_HOST_POOL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/engine.h"
#include "server/memory/device_set.h"

namespace corank {

/// Buffer sizes have four steps per doubling, from 4 KiB up. Freed buffers are kept for the next request of their size
/// while such requests come (Trim). Thread-safe.
class HostPool : public std::enable_shared_from_this<HostPool> {
 public:
  struct Options {
    /// Most bytes of buffers, used and idle together.
    int64_t max_bytes = int64_t{8} << 30;
    /// Most bytes of idle buffers.
    int64_t max_kept_bytes = int64_t{2} << 30;
  };

  /// Reserved room in the pool. Destruction releases it; buffers taken from it keep it alive.
  class Reservation {
   public:
    ~Reservation();
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    friend class HostPool;
    Reservation(std::shared_ptr<HostPool> pool, int64_t bytes) : pool_(std::move(pool)), bytes_(bytes) {}
    const std::shared_ptr<HostPool> pool_;
    int64_t bytes_;     // guarded by the pool's mutex
    int64_t used_ = 0;  // likewise
  };

  /// `devices` must outlive the pool and all its buffers, which all of them can use.
  static std::shared_ptr<HostPool> Create(const DeviceSet* devices, const Options& options);

  /// At least `bytes` bytes (1 or more), uninitialized. Freed when the last copy of the pointer is destroyed, on any
  /// thread. Takes reserved room first, then free room. RESOURCE_EXHAUSTED with RetryInfo: the pool or the host has no
  /// free memory; within a reservation, only the host can lack it.
  absl::StatusOr<std::shared_ptr<void>> Take(int64_t bytes, std::shared_ptr<Reservation> of = nullptr);

  /// Reserves room for buffers of `bytes` bytes (BufferBytes) together. RESOURCE_EXHAUSTED with RetryInfo.
  absl::StatusOr<std::shared_ptr<Reservation>> Reserve(int64_t bytes);
  /// Enlarges a reservation by at most `bytes` bytes of free room, and leaves half of the pool to later requests.
  /// Returns the number of bytes added.
  int64_t Grow(Reservation& reservation, int64_t bytes);

  /// Frees half, rounded up, of the buffers of each size that stayed idle since the last call. Leftovers of a burst go
  /// within a few calls; buffers that are used now and then stay.
  void Trim();

  /// The size of a buffer for `bytes` bytes. Take uses max_bytes if that is less.
  static int64_t BufferBytes(int64_t bytes);

  int64_t max_bytes() const { return options_.max_bytes; }
  int64_t bytes_in_use() const;
  /// Bytes of used buffers and of reservations.
  int64_t promised_bytes() const;
  /// Bytes of idle buffers.
  int64_t kept_bytes() const;
  /// Number of allocations from the engine.
  int64_t allocations() const;

 private:
  using Memory = std::unique_ptr<EngineMemory>;
  /// Idle buffers of one size, the most recently used one last.
  struct Shelf {
    std::vector<Memory> memories;
    size_t least = 0;  // fewest since the last Trim
  };

  HostPool(const DeviceSet* devices, const Options& options) : devices_(devices), options_(options) {}
  void GiveBack(EngineMemory* memory, const std::shared_ptr<Reservation>& of);
  // Takes a buffer's bytes from the reservation, or from free room if the reservation is too small: `of` then becomes
  // null.
  bool Promise(int64_t bytes, std::shared_ptr<Reservation>& of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unpromise(int64_t bytes, const std::shared_ptr<Reservation>& of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes idle buffers until `bytes` more fit under max_bytes, or none is left.
  std::vector<Memory> MakeRoom(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The last buffer of a shelf, which must not be empty.
  Memory TakeFrom(int64_t size, Shelf& shelf) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const DeviceSet* const devices_;
  const Options options_;
  mutable absl::Mutex mutex_;
  std::map<int64_t, Shelf> kept_ ABSL_GUARDED_BY(mutex_);  // by size
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t promised_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // never more than max_bytes
  int64_t allocations_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_HOST_POOL_H_
