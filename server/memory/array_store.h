// Arrays that the server stores between calls.
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
#include "kernels/engine/budget.h"
#include "kernels/engine/engine.h"
#include "server/base/clock.h"
#include "server/memory/device_set.h"
#include "server/memory/names.h"
#include "server/memory/pages.h"

namespace corank {

/// What one device has of a stored array.
struct KeptPart {
  int device = 0;
  Budget::Reservation of_store;
  std::shared_ptr<EngineMemory> memory = nullptr;  // null if there are no bytes

  char* data() const { return memory == nullptr ? nullptr : static_cast<char*>(memory->data()); }
};

/// A stored array. Constant once it is stored.
struct KeptArray {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  Budget::Reservation of_owner;
  bool is_sharded = false;
  std::vector<KeptPart> parts;  // in order (model/parts.h); one, unless it is sharded

  int64_t size_bytes() const { return count * element_bytes; }
  /// The devices without which the array is lost, as a mask.
  uint64_t devices() const;
  /// The elements from `first` on that lie together; `count` is 1 or more if the array has an element `first`.
  struct Span {
    int device = 0;
    char* bytes = nullptr;
    int64_t count = 0;
  };
  Span From(int64_t first) const;
};

/// Room that is reserved for an array. Nothing is allocated yet. The destructor releases the room.
struct KeptRoom {
  Budget::Reservation of_owner;
  bool is_sharded = false;
  std::vector<KeptPart> parts;

  /// Of an array that is not sharded.
  int device() const { return parts.empty() ? 0 : parts.front().device; }
  int64_t bytes() const { return parts.empty() ? 0 : parts.front().of_store.bytes(); }
  /// Whether each part of an array of `count` elements has room.
  bool Holds(int64_t count, int32_t element_bytes) const;
};

/// Thread-safe. Names belong to an owner; other owners get NOT_FOUND for them. Each array is charged at least
/// kLeastCharge, so the budgets limit the number of arrays too.
class ArrayStore {
 public:
  static constexpr int64_t kLeastCharge = 4096;
  /// The name of its list in page tokens.
  static constexpr char kListName[] = "arrays";
  /// The charge of an array of `bytes` bytes.
  static int64_t Charge(int64_t bytes) { return std::max(bytes, kLeastCharge); }

  struct Options {
    /// Bytes of each device's memory for stored arrays; 0: switched off.
    int64_t max_bytes = 0;
    /// Bytes of one owner's arrays on all devices together; 0: no limit of its own.
    int64_t quota_bytes = 0;
    /// Most parts of a sharded array; 0: as many as there are devices.
    int most_shards = 0;
    /// How long an unused array is stored if its creator does not say, and the most that it may say.
    std::chrono::seconds default_expiry = std::chrono::hours(1);
    std::chrono::seconds max_expiry = std::chrono::hours(24);
  };

  /// The pointees must outlive the store and its arrays.
  ArrayStore(const Options& options, const DeviceSet* devices, const Clock* clock);

  bool is_on() const { return options_.max_bytes > 0; }

  /// Live devices with room for an array of `bytes` bytes now, as a mask.
  uint64_t DevicesWithRoom(int64_t bytes) const;
  /// The live device among these with the most room; 0 if none is live.
  int RoomiestDevice(uint64_t devices = ~uint64_t{0}) const;

  /// Room on a device for an array of at most `bytes` bytes. RESOURCE_EXHAUSTED: with a field name if the owner's quota
  /// is full, with RetryInfo if the device's memory is. INVALID_ARGUMENT: more than the whole quota or device.
  absl::StatusOr<KeptRoom> Reserve(absl::string_view owner, int device, int64_t bytes, absl::string_view field);
  /// The devices for a new sharded array, as a mask.
  uint64_t ShardDevices() const;
  /// Reserves room for a sharded array, with a part on each of `devices`, of which there is at least one. Returns the
  /// errors that Reserve returns.
  absl::StatusOr<KeptRoom> ReserveSharded(absl::string_view owner, uint64_t devices, int64_t count,
                                          int32_t element_bytes, absl::string_view field);
  /// Memory for an array that nobody sees yet, of at most the room's bytes. Takes over the room, unless it fails.
  /// RESOURCE_EXHAUSTED with RetryInfo: a device has less memory than the store was promised.
  absl::StatusOr<std::shared_ptr<KeptArray>> Make(KeptRoom& room, int64_t count, int32_t element_bytes = 1);

  /// The expiry that a request asks for, in whole seconds; 0 means the default. INVALID_ARGUMENT, naming `field`, if
  /// arrays may not be stored for that long.
  absl::StatusOr<std::chrono::seconds> ReadExpiry(absl::string_view field,
                                                  const google::protobuf::Duration& expiry) const;
  /// Publishes the array. Replaces an array of the same name; requests that use the old one keep it until they end.
  /// `expiry`: what ReadExpiry returned.
  absl::Status Keep(absl::string_view owner, const std::string& name, std::shared_ptr<const KeptArray> array,
                    std::chrono::seconds expiry = std::chrono::seconds(0));

  /// The array, which counts as in use while the pointer lives.
  absl::StatusOr<std::shared_ptr<const KeptArray>> Find(absl::string_view owner, const std::string& name,
                                                        absl::string_view field);
  /// FAILED_PRECONDITION while a request uses it.
  absl::Status Delete(absl::string_view owner, const std::string& name);
  v1::ListArraysResponse List(absl::string_view owner, const Page& page = {});
  v1::StoredArray Describe(absl::string_view owner, const std::string& name, const KeptArray& array);

  /// The device is lost: its arrays are no longer found, and no new ones are stored there. Owners regain their quota,
  /// but the memory is freed only when the store is destroyed, because a call to a hanging driver never returns.
  void ForgetDevice(int device);

  /// Drops expired arrays.
  void GiveBackExpired() ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t used_bytes() const;
  int64_t used_bytes(int device) const { return budgets_[static_cast<size_t>(device)]->used(); }

 private:
  struct Entry {
    std::shared_ptr<const KeptArray> array;
    std::chrono::seconds expiry;
    Instant expires;  // expiry after its last use
  };
  using Arrays = std::map<OwnedName, Entry>;

  // Arrays in use do not expire; their time starts anew. The caller must free the memory without the lock.
  std::vector<std::shared_ptr<const KeptArray>> TakeExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Restarts the time of the entry.
  void Use(Arrays::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps what lies on lost devices.
  void KeepLost(const KeptArray& array, uint64_t lost) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Arrays::iterator Erase(Arrays::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `charges`: the devices, with their bytes. RESOURCE_EXHAUSTED or INVALID_ARGUMENT, as Reserve says.
  absl::StatusOr<KeptRoom> ReserveParts(absl::string_view owner, const std::vector<std::pair<int, int64_t>>& charges,
                                        absl::string_view field) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<EngineMemory>> Allocate(int device, int64_t bytes) const;
  Budget& OwnerBudget(absl::string_view owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const DeviceSet* const devices_;
  const Clock* const clock_;
  const int64_t quota_bytes_;
  std::vector<std::shared_ptr<Budget>> budgets_;  // by device
  mutable absl::Mutex mutex_;
  Arrays arrays_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<Instant, const OwnedName*>> expiries_
      ABSL_GUARDED_BY(mutex_);  // of all entries; points to their names
  std::map<std::string, std::shared_ptr<Budget>> owners_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<EngineMemory>> lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_ARRAY_STORE_H_
