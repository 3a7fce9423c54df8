// The shared memory that a Client has registered: regions of the caller, and regions that the client makes.
#ifndef CORANK_CLIENT_CPP_REGIONS_H_
#define CORANK_CLIENT_CPP_REGIONS_H_

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "client/cpp/lease.h"
#include "corank/memory.h"
#include "corank/shared_memory.h"
#include "corank/v1/array.pb.h"

namespace corank::client {

/// Shared memory that the server maps while the lease is open.
struct OwnRegion {
  SharedMemory memory;
  std::string name;
  std::shared_ptr<const Lease> lease;
};

/// The regions of one Client. Thread-safe.
class Regions {
 public:
  /// `most_idle` is how long an unused region waits for later calls.
  explicit Regions(Connection* connection, absl::Duration most_idle = absl::Minutes(1))
      : connection_(connection), most_idle_(most_idle) {}
  ~Regions();
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  /// Registers the memory under a new name and returns the name. The memory stays mapped until Unregister, even if its
  /// SharedMemory is destroyed. Otherwise other memory at its addresses would pass for a part of the region.
  absl::StatusOr<std::string> Register(const SharedMemory& memory, const CallOptions& call);
  absl::Status Unregister(const std::string& name, const CallOptions& call);
  absl::StatusOr<std::vector<RegionInfo>> List(const CallOptions& call) const;

  /// The place of bytes inside one of the caller's regions. None if the bytes are empty or lie elsewhere, if the server
  /// would refuse their offset for elements of this size, or if the region ended with its lease.
  std::optional<v1::RegionPlace> Find(absl::string_view bytes, int element_bytes) const;

  /// Whether the server may be able to map this process's memory.
  bool may_share() const { return connection_->is_same_host() && !connection_->may_be_several() && !is_refused_; }
  /// A region of at least `bytes` bytes for one call: the smallest idle one that is large enough, or a new one. If the
  /// server has no room, `waits` decides whether this retries. Without it, this does not even ask the server before the
  /// time that the server named last.
  absl::StatusOr<std::unique_ptr<OwnRegion>> Borrow(int64_t bytes, const std::string& prefix, absl::Time deadline,
                                                    const CallOptions& call, bool waits);
  /// Takes a region back. The largest few stay for later calls for a while, unless they take too much of the host's
  /// memory.
  void Return(std::unique_ptr<OwnRegion> region);
  /// Gives up a region. While the server still writes to it, a later call unregisters it.
  void Discard(std::unique_ptr<OwnRegion> region);
  /// Gives up all idle regions, because the server has lost one of them.
  void DiscardIdle();

 private:
  struct Range {
    absl::string_view bytes;
    std::string name;
    std::shared_ptr<const void> mapping;
    std::shared_ptr<const Lease> lease;
  };
  struct Idle {
    std::unique_ptr<OwnRegion> region;
    absl::Time since;
  };
  using IdleRegions = std::multimap<int64_t, Idle>;  // by size

  /// The name of the new region, and the lease that it ends with. `repeats` allows retries.
  absl::StatusOr<std::pair<std::string, std::shared_ptr<const Lease>>> RegisterNamed(const SharedMemory& memory,
                                                                                     absl::Time deadline,
                                                                                     const CallOptions& call,
                                                                                     bool repeats);
  /// The open lease, or a new one. One call opens it; the others wait, each until its own deadline.
  Attempt OpenLease(absl::Time deadline, const CallOptions& call, std::shared_ptr<const Lease>* lease);

  /// Unregisters these regions, and keeps the names of regions that the server still uses.
  void Unregister(const std::vector<std::string>& names);
  std::unique_ptr<OwnRegion> TakeIdle(IdleRegions::iterator idle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Gives up regions that stay idle too long, until the end.
  void WatchIdle();
  absl::Time NextToGo() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Connection* const connection_;
  const absl::Duration most_idle_;
  std::atomic<bool> is_refused_{false};
  mutable absl::Mutex mutex_;
  std::map<const char*, Range> ranges_ ABSL_GUARDED_BY(mutex_);  // by first byte
  IdleRegions idle_ ABSL_GUARDED_BY(mutex_);
  int64_t idle_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> discarded_ ABSL_GUARDED_BY(mutex_);            // still registered
  absl::Time full_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // the server said so
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watch_ ABSL_GUARDED_BY(mutex_);  // started with the first idle region
  absl::Mutex lease_mutex_;
  bool is_opening_ ABSL_GUARDED_BY(lease_mutex_) = false;
  std::shared_ptr<const Lease> lease_ ABSL_GUARDED_BY(lease_mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_REGIONS_H_
