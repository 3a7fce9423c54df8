// The bytes of a response whose large results are not copied.
#ifndef CORANK_SERVER_RPC_RESPONSE_SLICES_H_
#define CORANK_SERVER_RPC_RESPONSE_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "server/base/bytes.h"
#include "server/model/outcome.h"

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

/// Assembles the bytes of a response: small pieces together, large ones where they lie.
class ResponseSlices {
 public:
  /// `bytes`: rough number of bytes to copy before the first large piece.
  explicit ResponseSlices(size_t bytes) : room_(bytes), copied_(new char[bytes]) {}

  void Copy(const void* bytes, size_t count) {
    if (count == 0) return;
    if (count > room_ - used_) Flush(count);
    std::memcpy(copied_.get() + used_, bytes, count);
    used_ += count;
  }
  void Add(const ResultArray& result) {
    const size_t size = InlineBytes(result);
    if (IsCopied(result)) return Copy(result.bytes, size);
    Flush(kResponseHeadBytes);
    bytes_.Append({result.target, static_cast<const char*>(result.bytes), size});
  }
  Bytes Take() {
    Flush(0);
    return std::move(bytes_);
  }

 private:
  // Starts another piece of at least this many bytes.
  void Flush(size_t next) {
    if (used_ > 0) {
      const char* const data = copied_.get();
      bytes_.Append({std::move(copied_), data, used_});
    }
    room_ = next == 0 ? 0 : std::max(next, kResponseHeadBytes);
    copied_.reset(new char[room_]);
    used_ = 0;
  }

  size_t room_;
  std::shared_ptr<char[]> copied_;
  size_t used_ = 0;
  Bytes bytes_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_RESPONSE_SLICES_H_
