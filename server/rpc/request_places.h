// The places of one request: what the message holds, regions and kept arrays.
#ifndef CORANK_SERVER_RPC_REQUEST_PLACES_H_
#define CORANK_SERVER_RPC_REQUEST_PLACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "server/memory/array_store.h"
#include "server/memory/device_set.h"
#include "server/memory/host_pool.h"
#include "server/memory/region_registry.h"
#include "server/rpc/inline_payloads.h"
#include "server/security/caller.h"
#include "server/validate/places.h"

namespace corank {

/// What outlives requests and they may name. The pointees outlive all requests.
struct SharedPlaces {
  RegionRegistry* regions = nullptr;
  ArrayStore* arrays = nullptr;
  HostPool* host_pool = nullptr;
  const DeviceSet* devices = nullptr;
};

/// Used by one thread, for one request. Results for the response go to pinned memory, from where they are sent.
class RequestPlaces : public InlinePlaces {
 public:
  /// `payloads` must outlive the operation.
  RequestPlaces(const SharedPlaces& shared, std::shared_ptr<const Caller> caller, const InlinePayloads* payloads)
      : shared_(shared), caller_(std::move(caller)), payloads_(payloads) {}

  absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const override;
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t bytes,
                                                       int32_t element_bytes) const override;

  /// Of all arrays and results so far that are outside of the message.
  int64_t placed_bytes() const { return placed_bytes_; }
  /// Where the request should run, as a mask: where its results are written in place, or else where most bytes of its
  /// arrays are, if its results can be kept there; it runs anywhere, what lies elsewhere being copied.
  uint64_t devices() const;

 protected:
  const std::string& owner() const { return caller_->tenant; }
  const SharedPlaces& shared() const { return shared_; }
  /// Copies bytes that the caller may change, or that are on the device, to host memory that only this request sees: a
  /// few hundred microseconds for a million counts.
  absl::Status Snapshot(Operand* operand) const;

 private:
  // A part of a region: [begin, end) as addresses.
  struct Span {
    std::shared_ptr<const MemoryRegion> region;
    uintptr_t begin = 0;
    uintptr_t end = 0;
  };

  absl::StatusOr<Span> FindSpan(v1::RegionKind kind, const std::string& name, int64_t offset, int64_t bytes,
                                int32_t element_bytes, Field field, absl::string_view place) const;
  absl::Status FindInRegion(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const;
  absl::Status FindKept(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const;
  void NoteInput(const Operand& operand) const;
  // That a result overlaps no other result and, where kernels write it in place, no input.
  absl::Status CheckDisjoint(const Span& span, bool in_place, Field field) const;

  const SharedPlaces shared_;
  const std::shared_ptr<const Caller> caller_;
  const InlinePayloads* const payloads_;
  mutable std::vector<Span> inputs_, results_;
  mutable int64_t placed_bytes_ = 0;
  mutable absl::InlinedVector<std::pair<int, int64_t>, 2> input_bytes_;  // by device
  mutable uint64_t result_devices_ = 0;                                  // that hold places of results
  mutable uint64_t roomy_devices_ = ~uint64_t{0};                        // with room for results that are kept
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_PLACES_H_
