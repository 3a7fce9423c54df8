// Memory that gRPC sends without a copy.
#ifndef CORANK_SERVER_RPC_OWNED_SLICE_H_
#define CORANK_SERVER_RPC_OWNED_SLICE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "grpcpp/support/slice.h"

namespace corank {

/// A slice of `bytes` bytes at `data`. `owner` keeps them until gRPC releases them, on any thread.
inline grpc::Slice OwnedSlice(std::shared_ptr<const void> owner, const void* data, size_t bytes) {
  using Owner = std::shared_ptr<const void>;
  return grpc::Slice(
      const_cast<void*>(data), bytes, [](void* kept) { delete static_cast<Owner*>(kept); },
      new Owner(std::move(owner)));
}

}  // namespace corank

#endif  // CORANK_SERVER_RPC_OWNED_SLICE_H_
