// Pinned host memory that requests share: payloads wait in it for their lane, results leave from it.
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

/// Buffers come in sizes of four steps a doubling, from 4 KiB up, and are kept for the next taker of their size for as
/// long as takers come (Trim). Thread-safe.
class HostPool : public std::enable_shared_from_this<HostPool> {
 public:
  struct Options {
    /// Most bytes that buffers may take, in use and kept together.
    int64_t max_bytes = int64_t{8} << 30;
    /// Most bytes that are kept for the next taker.
    int64_t max_kept_bytes = int64_t{2} << 30;
  };

  /// Room in the pool that nobody else gets; given back when it is destroyed. Buffers that were taken of it keep it.
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
    int64_t used_ = 0;  // the same
  };

  /// `devices` must outlive the pool and all its buffers, which are for all of them.
  static std::shared_ptr<HostPool> Create(const DeviceSet* devices, const Options& options);

  /// At least `bytes` bytes (1 or more), not initialised, given back when the last copy of the pointer is gone, on any
  /// thread. Of the room that was reserved, as far as that reaches, and otherwise of what is free. RESOURCE_EXHAUSTED
  /// with RetryInfo: the pool's or the host's memory is in use; the pool's cannot be within a reservation.
  absl::StatusOr<std::shared_ptr<void>> Take(int64_t bytes, std::shared_ptr<Reservation> of = nullptr);

  /// Room for buffers of `bytes` bytes (BufferBytes) together. RESOURCE_EXHAUSTED with RetryInfo.
  absl::StatusOr<std::shared_ptr<Reservation>> Reserve(int64_t bytes);
  /// Adds what is free to a reservation, `bytes` bytes at most, and leaves half of the pool to those who come next. How
  /// much was added.
  int64_t Grow(Reservation& reservation, int64_t bytes);

  /// Frees half, rounded up, of the buffers of each size that were kept all the time since the last call: what a burst
  /// of requests left behind goes within a few calls, and what comes and goes stays.
  void Trim();

  /// What a buffer of `bytes` bytes takes of the pool, where that has room for it.
  static int64_t BufferBytes(int64_t bytes);

  int64_t max_bytes() const { return options_.max_bytes; }
  int64_t bytes_in_use() const;
  /// Of the buffers in use and of reservations.
  int64_t promised_bytes() const;
  int64_t buffers_in_use() const;
  /// Of buffers that wait for the next taker.
  int64_t kept_bytes() const;
  /// How often the engine was asked for memory.
  int64_t allocations() const;

 private:
  using Memory = std::unique_ptr<EngineMemory>;
  /// Kept buffers of one size, the last one that was given back behind.
  struct Shelf {
    std::vector<Memory> memories;
    size_t least = 0;  // as few there were since the last Trim
  };

  HostPool(const DeviceSet* devices, const Options& options) : devices_(devices), options_(options) {}
  void GiveBack(EngineMemory* memory, const std::shared_ptr<Reservation>& of);
  // Takes a buffer's bytes of the reservation, or of what is free where that does not reach: then `of` becomes null.
  bool Promise(int64_t bytes, std::shared_ptr<Reservation>& of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unpromise(int64_t bytes, const std::shared_ptr<Reservation>& of) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes kept buffers out until `bytes` more fit under max_bytes, or none is left.
  std::vector<Memory> MakeRoom(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The last buffer of a shelf, which is not empty.
  Memory TakeFrom(int64_t size, Shelf& shelf) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const DeviceSet* const devices_;
  const Options options_;
  mutable absl::Mutex mutex_;
  std::map<int64_t, Shelf> kept_ ABSL_GUARDED_BY(mutex_);  // by size
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t promised_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // never more than max_bytes
  int64_t buffers_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t allocations_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_HOST_POOL_H_
