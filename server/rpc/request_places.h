// The places of one request: what the message holds, regions and kept arrays.
#ifndef CORANK_SERVER_RPC_REQUEST_PLACES_H_
#define CORANK_SERVER_RPC_REQUEST_PLACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/memory/array_store.h"
#include "server/memory/host_pool.h"
#include "server/memory/region_registry.h"
#include "server/rpc/inline_payloads.h"
#include "server/validate/places.h"

namespace corank {

/// What outlives requests and they may name. The pointees outlive all requests.
struct SharedPlaces {
  RegionRegistry* regions = nullptr;
  ArrayStore* arrays = nullptr;
  HostPool* host_pool = nullptr;
};

/// Used by one thread, for one request. Results for the response go to pinned memory, from where they are sent.
class RequestPlaces : public InlinePlaces {
 public:
  /// `payloads` must outlive the operation.
  RequestPlaces(const SharedPlaces& shared, absl::string_view owner, const InlinePayloads* payloads)
      : shared_(shared), owner_(owner), payloads_(payloads) {}

  absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) const override;
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t bytes,
                                                       int32_t element_bytes) const override;

  /// Of all arrays and results so far that are outside of the message.
  int64_t placed_bytes() const { return placed_bytes_; }

 protected:
  const std::string& owner() const { return owner_; }
  const SharedPlaces& shared() const { return shared_; }

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
  // Copies bytes that the caller may change to memory that only this request sees.
  absl::Status Snapshot(Operand* operand) const;
  // That a result overlaps no other result and, where kernels write it in place, no input.
  absl::Status CheckDisjoint(const Span& span, bool in_place, Field field) const;

  const SharedPlaces shared_;
  const std::string owner_;
  const InlinePayloads* const payloads_;
  mutable std::vector<Span> inputs_, results_;
  mutable int64_t placed_bytes_ = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REQUEST_PLACES_H_
