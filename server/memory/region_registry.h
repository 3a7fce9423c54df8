// Callers' memory that requests may use: shared memory of the host and GPU memory of other processes.
#ifndef CORANK_SERVER_MEMORY_REGION_REGISTRY_H_
#define CORANK_SERVER_MEMORY_REGION_REGISTRY_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "corank/v1/memory_service.pb.h"
#include "kernels/engine/engine.h"
#include "server/base/clock.h"
#include "server/memory/device_set.h"
#include "server/memory/names.h"
#include "server/memory/pages.h"

namespace corank {

/// A position in a shared-memory object, whichever mapping leads to it.
struct ObjectPlace {
  uint64_t device = 0, inode = 0;  // the object
  int64_t offset = 0;
};
/// The position of an address in a shared-memory region of this process; nullopt for other memory. Objects of live
/// regions differ in device or inode. Thread-safe.
std::optional<ObjectPlace> FindObjectPlace(const void* address);

/// A region as its owner registered it.
struct RegionFacts {
  std::string name;
  int64_t size_bytes = 0;
  std::string key;  // of shared memory
  int64_t offset_bytes = 0;
  int device = 0;  // of CUDA IPC
};

/// A registered region. Its memory may be used while a pointer to it exists. Thread-safe.
class MemoryRegion {
 public:
  MemoryRegion(std::string name, v1::RegionKind kind) : name_(std::move(name)), kind_(kind) {}
  virtual ~MemoryRegion() = default;

  const std::string& name() const { return name_; }
  v1::RegionKind kind() const { return kind_; }
  /// Host memory of a shared-memory region, device memory of a CUDA IPC region.
  virtual void* data() const = 0;
  virtual int64_t size_bytes() const = 0;
  /// Whether all of it still exists; a caller can shrink shared memory at any time.
  virtual bool intact() const = 0;
  /// The device of a CUDA IPC region.
  virtual int device() const { return 0; }
  virtual RegionFacts Facts() const = 0;

 private:
  const std::string name_;
  const v1::RegionKind kind_;
};

/// Thread-safe. Names belong to an owner; other owners get NOT_FOUND for them.
class RegionRegistry {
 public:
  /// The name of its list in page tokens.
  static constexpr char kListName[] = "regions";
  /// When to retry what the most regions or leases refused: others may have ended some.
  static constexpr absl::Duration kFullRetry = absl::Seconds(10);

  struct Options {
    /// Allowed prefixes of shared-memory objects' names, each with its leading slash; empty: switched off.
    std::vector<std::string> shared_memory_prefixes;
    /// Whether GPU memory of other processes may be registered.
    bool cuda_ipc = false;
    /// Most regions of all owners, and most leases. One owner may have at most a quarter of each.
    int max_regions = 1024;
    /// A region without a lease that no request used for this long is unregistered; a lease without regions ends.
    std::chrono::nanoseconds expiry = std::chrono::minutes(10);
  };

  /// The pointees must outlive the registry and its regions.
  RegionRegistry(Options options, const DeviceSet* devices, const Clock* clock);

  const Options& options() const { return options_; }

  /// Whether a caller still wants its region. Mapping and pinning take as long as the system and the driver do.
  using Wanted = std::function<bool()>;
  /// `wanted`: null: always. A region that is not wanted any more when it is mapped goes, and its name with it.
  absl::StatusOr<v1::Region> Register(absl::string_view owner, const v1::RegisterSharedMemoryRequest& request,
                                      const Wanted& wanted = nullptr);
  absl::StatusOr<v1::Region> Register(absl::string_view owner, const v1::RegisterCudaIpcRequest& request,
                                      const Wanted& wanted = nullptr);
  v1::ListRegionsResponse List(absl::string_view owner, const Page& page = {});
  /// All regions of one kind, with what their registration said.
  std::vector<RegionFacts> Facts(absl::string_view owner, v1::RegionKind kind) const;
  /// FAILED_PRECONDITION while a request uses it.
  absl::Status Unregister(absl::string_view owner, const std::string& name);

  /// A new lease. RESOURCE_EXHAUSTED with RetryInfo: too many are open.
  /// `on_idle`: called once, on any thread, when the lease had no region for Options::expiry. It must not block; its
  /// caller closes the lease.
  absl::StatusOr<std::string> OpenLease(absl::string_view owner, std::function<void()> on_idle = nullptr);
  /// Unregisters all regions of the lease. Memory that requests use is released with the last of them.
  void CloseLease(const std::string& lease_id);

  /// The device is lost: its regions are no longer found. Their memory is released only when the registry is destroyed,
  /// because a call to a hanging driver never returns.
  void ForgetDevice(int device);

  /// The region, which counts as in use while the pointer lives. NOT_FOUND; FAILED_PRECONDITION if it is not intact.
  absl::StatusOr<std::shared_ptr<const MemoryRegion>> Find(absl::string_view owner, const std::string& name,
                                                           v1::RegionKind kind, absl::string_view field);

  int64_t region_count() const;
  int64_t lease_count() const;

  /// Drops expired regions, which have no lease and were not used for too long, and tells idle leases so.
  void GiveBackExpired() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::shared_ptr<MemoryRegion> region;  // null while it is being mapped
    std::string lease_id;
    Instant last_used;
    uint64_t serial;
  };
  using Regions = std::map<OwnedName, Entry>;
  struct LeaseEntry {
    std::string owner;
    Instant last_used;  // when it was opened or had a region, as far as is known
    std::function<void()> on_idle;
  };

  int MostOfOwner() const { return std::max(1, options_.max_regions / 4); }
  // Reserves the name. Returns the serial number of the entry, by which Publish recognizes it.
  absl::StatusOr<uint64_t> Reserve(const OwnedName& key, const std::string& lease_id);
  absl::StatusOr<v1::Region> Publish(const OwnedName& key, uint64_t serial,
                                     absl::StatusOr<std::shared_ptr<MemoryRegion>> region, const Wanted& wanted);
  void EndIdleLeases() ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes expired entries. The caller frees their memory without the lock.
  std::vector<std::shared_ptr<MemoryRegion>> TakeExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const DeviceSet* const devices_;
  const Clock* const clock_;
  mutable absl::Mutex mutex_;
  Regions regions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_serial_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, LeaseEntry> leases_ ABSL_GUARDED_BY(mutex_);  // by id
  std::vector<std::shared_ptr<MemoryRegion>> lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_REGION_REGISTRY_H_
