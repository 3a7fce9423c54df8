// Arrays that the server keeps between calls.
#ifndef CORANK_SERVER_MEMORY_ARRAY_STORE_H_
#define CORANK_SERVER_MEMORY_ARRAY_STORE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "corank/v1/memory_service.pb.h"
#include "kernels/engine/engine.h"
#include "server/memory/budget.h"
#include "server/memory/device_set.h"
#include "server/memory/names.h"
#include "server/observe/clock.h"

namespace corank {

/// A kept array. Does not change once it is kept.
struct KeptArray {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  Budget::Reservation of_store, of_owner;
  int device = 0;                        // where its bytes are
  std::shared_ptr<EngineMemory> memory;  // null where there are no bytes

  int64_t size_bytes() const { return count * element_bytes; }
  const void* data() const { return memory == nullptr ? nullptr : memory->data(); }
};

/// Room for an array on a device that nobody else gets; given back when it is destroyed.
struct KeptRoom {
  int device = 0;
  Budget::Reservation of_store, of_owner;

  int64_t bytes() const { return of_store.bytes(); }
};

/// Thread-safe. Names belong to an owner; another owner's are NOT_FOUND. Budgets are charged at least kLeastCharge for
/// each array, so that they bound the number of arrays too.
class ArrayStore {
 public:
  static constexpr int64_t kLeastCharge = 4096;
  /// What an array of `bytes` bytes takes of the budgets.
  static int64_t Charge(int64_t bytes) { return std::max(bytes, kLeastCharge); }

  struct Options {
    /// Bytes of each device's memory that kept arrays may take; 0: switched off.
    int64_t max_bytes = 0;
    /// Bytes that the arrays of one owner may take on all devices together; 0: as much as there is.
    int64_t quota_bytes = 0;
    /// How long an array is kept without use where its maker does not say, and the most that it may say.
    std::chrono::seconds default_expiry = std::chrono::hours(1);
    std::chrono::seconds max_expiry = std::chrono::hours(24);
  };

  /// The pointees must outlive the store and its arrays.
  ArrayStore(const Options& options, const DeviceSet* devices, const Clock* clock);

  bool is_on() const { return options_.max_bytes > 0; }

  /// The live devices whose budget has room for an array of `bytes` bytes now, as a mask.
  uint64_t DevicesWithRoom(int64_t bytes) const;
  /// The live device among these whose budget has most room; 0 where none lives.
  int RoomiestDevice(uint64_t devices = ~uint64_t{0}) const;

  /// Room on a device for an array of at most `bytes` bytes. RESOURCE_EXHAUSTED (the field named where it is the
  /// owner's quota, RetryInfo where it is the device's memory); INVALID_ARGUMENT: more than the quota, or a device,
  /// ever has.
  absl::StatusOr<KeptRoom> Reserve(absl::string_view owner, int device, int64_t bytes, absl::string_view field);
  /// A place for an array that nobody sees yet, of at most the room's bytes, which goes into it; with an error the room
  /// stays. RESOURCE_EXHAUSTED with RetryInfo: the device has less memory than the store was promised.
  absl::StatusOr<std::shared_ptr<KeptArray>> Make(KeptRoom& room, int64_t bytes);
  /// INVALID_ARGUMENT, in the name of `field`, where arrays are not kept that long. 0 means the default.
  absl::Status CheckExpiry(absl::string_view field, std::chrono::seconds expiry) const;
  /// Keeps it; an array of this name is replaced, for those who use it only once they are through. `expiry`: 0 means
  /// the default.
  absl::Status Keep(absl::string_view owner, const std::string& name, std::shared_ptr<const KeptArray> array,
                    std::chrono::seconds expiry = std::chrono::seconds(0));

  /// The array, in use as long as the pointer lives.
  absl::StatusOr<std::shared_ptr<const KeptArray>> Find(absl::string_view owner, const std::string& name,
                                                        absl::string_view field);
  /// FAILED_PRECONDITION while a request uses it.
  absl::Status Delete(absl::string_view owner, const std::string& name);
  v1::ListArraysResponse List(absl::string_view owner);
  v1::StoredArray Describe(absl::string_view owner, const std::string& name, const KeptArray& array);

  /// The device is lost: its arrays are found no more, and none is kept there. Their owners have their quota back, but
  /// their memory stays what it is until the store ends, because a call to a driver that hangs does not return.
  void ForgetDevice(int device);

  /// Drops the arrays whose time is over.
  void GiveBackExpired() ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t used_bytes() const;
  int64_t used_bytes(int device) const { return budgets_[static_cast<size_t>(device)]->used(); }

 private:
  struct Entry {
    std::shared_ptr<const KeptArray> array;
    std::chrono::seconds expiry;
    Instant expires;  // expiry after it was last used
  };
  using Arrays = std::map<OwnedName, Entry>;

  // What is in use does not expire: its time begins anew. The memory is to be given back outside of the lock.
  std::vector<std::shared_ptr<const KeptArray>> TakeExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The entry's time begins now.
  void Use(Arrays::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Arrays::iterator Erase(Arrays::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Budget& OwnerBudget(absl::string_view owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const DeviceSet* const devices_;
  const Clock* const clock_;
  const int64_t quota_bytes_;
  std::vector<std::shared_ptr<Budget>> budgets_;  // by device
  mutable absl::Mutex mutex_;
  Arrays arrays_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<Instant, const OwnedName*>> expiries_ ABSL_GUARDED_BY(mutex_);  // of all entries; their names
  std::map<std::string, std::shared_ptr<Budget>> owners_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<EngineMemory>> lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_ARRAY_STORE_H_
