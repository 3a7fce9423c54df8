// The bytes of a response whose large results are not copied.
#ifndef CORANK_SERVER_RPC_RESPONSE_SLICES_H_
#define CORANK_SERVER_RPC_RESPONSE_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "server/model/outcome.h"
#include "server/rpc/owned_slice.h"

namespace corank {

/// Enough for a response without its arrays, and for the heads of arrays, of some 20 bytes each.
inline constexpr size_t kResponseHeadBytes = 256;

/// Bytes of a result that go into the response.
inline size_t InlineBytes(const ResultArray& result) {
  return result.is_inline() ? static_cast<size_t>(result.count * result.element_bytes) : 0;
}

/// Whether the response has a copy of the result's bytes.
inline bool IsCopied(const ResultArray& result) {
  return result.target == nullptr || InlineBytes(result) <= kCopiedResultBytes;
}

/// Assembles the bytes of a response: small pieces in one slice, large ones in slices that keep their memory alive.
class ResponseSlices {
 public:
  /// `bytes`: rough number of bytes to copy before the first large piece.
  explicit ResponseSlices(size_t bytes) : copied_(bytes) {}

  void Copy(const void* bytes, size_t count) {
    if (count == 0) return;
    if (count > copied_.size() - used_) Flush(count);
    std::memcpy(const_cast<uint8_t*>(copied_.begin()) + used_, bytes, count);
    used_ += count;
  }
  void Add(const ResultArray& result) {
    const size_t size = InlineBytes(result);
    if (IsCopied(result)) return Copy(result.bytes, size);
    Flush(kResponseHeadBytes);
    slices_.push_back(OwnedSlice(result.target, result.bytes, size));
  }
  grpc::ByteBuffer Take() {
    Flush(0);
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }

 private:
  // Starts another slice of at least this many bytes.
  void Flush(size_t next) {
    if (used_ > 0) slices_.push_back(copied_.sub(0, used_));
    copied_ = grpc::Slice(next == 0 ? 0 : std::max(next, kResponseHeadBytes));
    used_ = 0;
  }

  grpc::Slice copied_;  // unshared while it is written
  size_t used_ = 0;
  absl::InlinedVector<grpc::Slice, 4> slices_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_RESPONSE_SLICES_H_
