// The places of one request: inline arrays, regions and stored arrays.
#ifndef CORANK_SERVER_PLAN_REQUEST_PLACES_H_
#define CORANK_SERVER_PLAN_REQUEST_PLACES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "server/memory/array_store.h"
#include "server/memory/device_set.h"
#include "server/memory/host_pool.h"
#include "server/memory/region_registry.h"
#include "server/memory/run_buffers.h"
#include "server/plan/parse/places.h"
#include "server/plan/payloads.h"
#include "server/run/operation.h"
#include "server/security/caller.h"

namespace corank {

class Helpers;

/// Objects that requests name or use. The pointees outlive all requests.
struct SharedPlaces {
  RegionRegistry* regions = nullptr;
  ArrayStore* arrays = nullptr;
  HostPool* host_pool = nullptr;
  RunBuffers* run_buffers = nullptr;
  const DeviceSet* devices = nullptr;
  Helpers* helpers = nullptr;
};

/// Room in the store for the results that a request stores, by field.
using KeptRooms = std::map<std::string, KeptRoom>;

/// Used by one thread, for one request. Find may wait (see Places). Results for the response go to pinned memory, from
/// which they are sent. All server memory is reserved here, before admission, so that the request cannot run out of it
/// later; RESOURCE_EXHAUSTED, with RetryInfo unless the caller's own quota is full.
class RequestPlaces : public Places {
 public:
  /// Server memory that a request got before its arrays arrived.
  struct Promised {
    std::shared_ptr<HostPool::Reservation> pinned;
    KeptRooms* rooms = nullptr;
  };

  /// `payloads` must outlive the operation. Without `may_wait`, Find fails for what it would have to wait for.
  RequestPlaces(const SharedPlaces& shared, std::shared_ptr<const Caller> caller, const Payloads* payloads,
                bool may_wait)
      : shared_(shared), caller_(std::move(caller)), payloads_(payloads), may_wait_(may_wait) {}

  /// Reserves room for all stored results so far, on one of the `allowed` devices, where the request should then run.
  absl::Status ReserveKept(uint64_t allowed = ~uint64_t{0});
  /// The devices of the sharded arrays and results; 0: none is sharded. Results count from ReserveKept on.
  uint64_t shard_devices() const { return shard_devices_; }
  /// Hands over what ReserveKept reserved.
  KeptRooms TakeRooms();
  /// The regions of shared memory found so far.
  std::vector<SharedSource> TakeSources() { return std::exchange(sources_, {}); }
  /// Bytes of the host pool for results in the response and for copies of counts.
  int64_t pinned_bytes() const { return pinned_bytes_; }

  absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) override;
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t bytes,
                                                       int32_t element_bytes) override;

  /// Find failed because it may not wait.
  bool would_wait() const { return would_wait_; }
  /// Bytes of all arrays and results so far outside the message.
  int64_t placed_bytes() const { return placed_bytes_; }
  /// Whether all arrays and results so far are inline.
  bool all_inline() const { return all_inline_; }
  /// Devices on which the request should run, as a mask: where its results are stored or written in place, or else
  /// where most bytes of its arrays are. It can run anywhere, because arrays elsewhere are copied.
  uint64_t devices() const;

 protected:
  /// Without `promised`: announces a request whose arrays arrive later. Reserves no memory for its results.
  /// `shard_devices`: of its sharded arrays and results; 0: they are refused.
  RequestPlaces(const SharedPlaces& shared, std::shared_ptr<const Caller> caller, const Payloads* payloads,
                uint64_t shard_devices, std::optional<Promised> promised)
      : shared_(shared),
        caller_(std::move(caller)),
        payloads_(payloads),
        takes_sharded_(shard_devices != 0),
        is_announced_(!promised),
        promised_(std::move(promised).value_or(Promised())),
        shard_devices_(shard_devices) {}

  const std::string& owner() const { return caller_->tenant; }
  const SharedPlaces& shared() const { return shared_; }
  /// Copies bytes that the caller may change, or that are on the device, to host memory that only this request sees: a
  /// few hundred microseconds for a million counts.
  absl::Status Snapshot(Operand* operand, Field field);

  /// The elements of a stored array.
  struct Elements {
    v1::ElementType type;
    int32_t element_bytes;
    int64_t count;
  };
  /// Checks that they have the array's type, `element_bytes`, and the array's count if it has one.
  static absl::Status CheckStored(const Elements& stored, const v1::Array& array, int32_t element_bytes, Field field);

  /// Checks that no other result of this operation has the same name, since it would be undefined which of the two
  /// counts.
  absl::Status CheckNew(const v1::StoredPlace& place, Field field);

 private:
  class StoredTarget;
  class KeptTarget;
  class ShardedTarget;
  // The room that was reserved for the result of this field before; none: empty.
  KeptRoom TakePromised(const std::string& field) const;
  struct KeptResult {
    std::shared_ptr<KeptTarget> target;
    std::string field;
    int64_t bytes;
  };

  // A part of a region: [begin, end) as addresses.
  struct Span {
    std::shared_ptr<const MemoryRegion> region;
    uintptr_t begin = 0;
    uintptr_t end = 0;
  };

  // The region that an array or a destination names.
  struct NamedRegion {
    v1::RegionKind kind;
    const v1::RegionPlace& place;

    bool is_on_host() const { return kind == v1::REGION_KIND_SHARED_MEMORY; }
    // The field that names it, in the field of the array or destination.
    std::string path(Field field) const { return field.Sub(is_on_host() ? "shared_memory" : "cuda_ipc"); }
  };

  // nullopt: the place is no region, or is switched off.
  template <typename Message>
  absl::StatusOr<std::optional<NamedRegion>> RegionOf(const Message& message, Field field) const;
  absl::StatusOr<Span> FindSpan(const NamedRegion& named, int64_t bytes, int32_t element_bytes, Field field) const;
  absl::Status FindInRegion(const NamedRegion& named, const v1::Array& array, Field field, ArrayUse use,
                            Operand* operand);
  absl::Status FindSharded(std::shared_ptr<const KeptArray> kept, Field field, ArrayUse use, Operand* operand);
  absl::Status FindKept(const v1::Array& array, Field field, ArrayUse use, Operand* operand);
  void NoteInput(const Operand& operand);
  absl::StatusOr<std::shared_ptr<void>> TakePinned(int64_t bytes);
  // Counts pinned memory of the request. INVALID_ARGUMENT: more than the whole pool.
  absl::Status CountPinned(int64_t bytes, Field field);
  absl::StatusOr<std::shared_ptr<ResultTarget>> KeepResult(const v1::StoredPlace& place, Field field, int64_t bytes,
                                                           int32_t element_bytes);
  // Checks that a result overlaps no other result and, if kernels write it in place, no input.
  absl::Status CheckDisjoint(const Span& span, bool in_place, Field field) const;

  const SharedPlaces shared_;
  const std::shared_ptr<const Caller> caller_;
  const Payloads* const payloads_;
  const bool may_wait_ = true;
  bool would_wait_ = false;
  const bool takes_sharded_ = true;
  const bool is_announced_ = false;
  const Promised promised_;
  int64_t pinned_bytes_ = 0;
  std::vector<Span> inputs_, results_;
  std::vector<SharedSource> sources_;
  std::vector<KeptResult> kept_;
  std::vector<std::shared_ptr<ShardedTarget>> sharded_;
  uint64_t shard_devices_ = 0;
  std::set<std::pair<bool, std::string>> stored_;  // names of results: whether temporary, name
  int64_t placed_bytes_ = 0;
  bool all_inline_ = true;
  absl::InlinedVector<std::pair<int, int64_t>, 2> input_bytes_;  // by device
  uint64_t result_devices_ = 0;                                  // devices with places of results
  uint64_t kept_devices_ = 0;                                    // the device with room for stored results
};

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_REQUEST_PLACES_H_
