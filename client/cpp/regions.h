// The shared memory that a Client has registered: its users' regions, and those that it makes for its own calls.
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

/// Shared memory that the server has mapped, for as long as the lease is open.
struct OwnRegion {
  SharedMemory memory;
  std::string name;
  std::shared_ptr<const Lease> lease;
};

/// Thread-safe.
class Regions {
 public:
  /// `most_idle`: how long a region is kept for later calls that none of them takes.
  explicit Regions(Connection* connection, absl::Duration most_idle = absl::Minutes(1))
      : connection_(connection), most_idle_(most_idle) {}
  ~Regions();
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  /// Registers the memory under a new name, and returns that. The memory stays mapped, also without its SharedMemory,
  /// until Unregister: what else came to lie at its addresses would be taken for a part of the region.
  absl::StatusOr<std::string> Register(const SharedMemory& memory, const CallOptions& call);
  absl::Status Unregister(const std::string& name, const CallOptions& call);
  absl::StatusOr<std::vector<RegionInfo>> List(const CallOptions& call) const;

  /// Where bytes lie that are inside one of the users' regions, at an offset that the server takes for elements of this
  /// size; none for other bytes, for no bytes at all, and for those of a region that ended with its lease.
  std::optional<v1::SharedMemoryPlace> Find(absl::string_view bytes, int element_bytes) const;

  /// Whether the server may be able to map this process's memory.
  bool may_share() const { return connection_->is_same_host() && !is_refused_; }
  /// A region of at least `bytes` bytes for one call: the smallest that is large enough of those that earlier calls
  /// gave back, or else a new one. `waits`: whether to try again where the server has no room for one; without, it is
  /// not even asked before the time that it named the last time.
  absl::StatusOr<std::unique_ptr<OwnRegion>> Borrow(int64_t bytes, const std::string& prefix, absl::Time deadline,
                                                    const CallOptions& call, bool waits);
  /// Takes a region back. The largest few are kept for later calls for a while, unless they take too much of the
  /// host's memory.
  void Return(std::unique_ptr<OwnRegion> region);
  /// Gives up a region that the server may still write to: then it is unregistered with a later call.
  void Discard(std::unique_ptr<OwnRegion> region);
  /// Gives up those that are kept for later calls: the server has lost one of them.
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
  using IdleRegions = std::multimap<int64_t, Idle>;  // by their size

  /// Its name, and the lease that it ends with. `repeats`: whether it is tried again where that may help.
  absl::StatusOr<std::pair<std::string, std::shared_ptr<const Lease>>> RegisterNamed(const SharedMemory& memory,
                                                                                     absl::Time deadline,
                                                                                     const CallOptions& call,
                                                                                     bool repeats);
  /// The lease that is open, or else a new one. One call opens it; the others wait, each by its own deadline.
  Attempt OpenLease(absl::Time deadline, const CallOptions& call, std::shared_ptr<const Lease>* lease);

  /// Has the server unregister these, and keeps the names of those that it still works in.
  void Unregister(const std::vector<std::string>& names);
  std::unique_ptr<OwnRegion> TakeIdle(IdleRegions::iterator idle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Gives up what nobody takes, until the end.
  void WatchIdle();
  absl::Time NextToGo() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Connection* const connection_;
  const absl::Duration most_idle_;
  std::atomic<bool> is_refused_{false};
  mutable absl::Mutex mutex_;
  std::map<const char*, Range> ranges_ ABSL_GUARDED_BY(mutex_);  // by their first byte
  IdleRegions idle_ ABSL_GUARDED_BY(mutex_);
  int64_t idle_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> discarded_ ABSL_GUARDED_BY(mutex_);            // names that are still registered
  absl::Time full_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // as the server said
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watch_ ABSL_GUARDED_BY(mutex_);  // from the first idle region on
  absl::Mutex lease_mutex_;
  bool is_opening_ ABSL_GUARDED_BY(lease_mutex_) = false;
  std::shared_ptr<const Lease> lease_ ABSL_GUARDED_BY(lease_mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_REGIONS_H_
