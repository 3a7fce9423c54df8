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
#include "server/memory/names.h"
#include "server/observe/clock.h"

namespace corank {

/// A kept array. Does not change once it is kept.
struct KeptArray {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  Budget::Reservation of_store, of_owner;
  std::unique_ptr<EngineMemory> memory;  // of the engine's device; null where there are no bytes

  int64_t size_bytes() const { return count * element_bytes; }
  const void* data() const { return memory == nullptr ? nullptr : memory->data(); }
};

/// Thread-safe. Names belong to an owner; another owner's are NOT_FOUND.
class ArrayStore {
 public:
  struct Options {
    /// Bytes of device memory that all kept arrays may take; 0: switched off.
    int64_t max_bytes = 0;
    /// Bytes that the arrays of one owner may take.
    int64_t quota_bytes = 0;
    /// How long an array is kept without use where its maker does not say, and the most that it may say.
    std::chrono::seconds default_expiry = std::chrono::hours(1);
    std::chrono::seconds max_expiry = std::chrono::hours(24);
  };

  /// The pointees must outlive the store and its arrays.
  ArrayStore(const Options& options, Engine* engine, const Clock* clock);

  bool is_on() const { return options_.max_bytes > 0; }

  /// A place for an array of at most `bytes` bytes that nobody sees yet. RESOURCE_EXHAUSTED (the field named where it
  /// is the owner's quota, RetryInfo where it is the server's memory).
  absl::StatusOr<std::shared_ptr<KeptArray>> Make(absl::string_view owner, int64_t bytes, absl::string_view field);
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

  int64_t used_bytes() const { return budget_->used(); }

 private:
  struct Entry {
    std::shared_ptr<const KeptArray> array;
    std::chrono::seconds expiry;
    Instant last_used;
  };

  std::vector<std::shared_ptr<const KeptArray>> TakeExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Budget& OwnerBudget(absl::string_view owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Engine* const engine_;
  const Clock* const clock_;
  const std::shared_ptr<Budget> budget_;
  mutable absl::Mutex mutex_;
  std::map<OwnedName, Entry> arrays_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Budget>> owners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_ARRAY_STORE_H_
