// Arrays that the server keeps between calls.
#ifndef CORANK_SERVER_MEMORY_ARRAY_STORE_H_
#define CORANK_SERVER_MEMORY_ARRAY_STORE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
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
  std::unique_ptr<EngineMemory> memory;  // null where there are no bytes

  int64_t size_bytes() const { return count * element_bytes; }
  const void* data() const { return memory == nullptr ? nullptr : memory->data(); }
};

/// Thread-safe. Names belong to an owner; another owner's are NOT_FOUND.
class ArrayStore {
 public:
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
  /// The live device whose budget has most room.
  int RoomiestDevice() const;

  /// A place on a device for an array of at most `bytes` bytes that nobody sees yet. RESOURCE_EXHAUSTED (the field
  /// named where it is the owner's quota, RetryInfo where it is the device's memory).
  absl::StatusOr<std::shared_ptr<KeptArray>> Make(absl::string_view owner, int device, int64_t bytes,
                                                  absl::string_view field);
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

  /// The device is lost: its arrays are found no more, and none is kept there. Their memory stays what it is until the
  /// store ends, because a call to a driver that hangs does not return.
  void ForgetDevice(int device);

  int64_t used_bytes() const;
  int64_t used_bytes(int device) const { return budgets_[static_cast<size_t>(device)]->used(); }

 private:
  struct Entry {
    std::shared_ptr<const KeptArray> array;
    std::chrono::seconds expiry;
    Instant last_used;
  };

  std::vector<std::shared_ptr<const KeptArray>> TakeExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Budget& OwnerBudget(absl::string_view owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const DeviceSet* const devices_;
  const Clock* const clock_;
  const int64_t quota_bytes_;
  std::vector<std::shared_ptr<Budget>> budgets_;  // by device
  mutable absl::Mutex mutex_;
  std::map<OwnedName, Entry> arrays_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Budget>> owners_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const KeptArray>> lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_ARRAY_STORE_H_
