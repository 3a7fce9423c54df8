// Bytes on their way to a socket: short ones are copied together, long ones are sent from where they lie.
#ifndef CORANK_SERVER_WIRE_OUTPUT_H_
#define CORANK_SERVER_WIRE_OUTPUT_H_

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <memory>

#include "server/base/bytes.h"

namespace corank::wire {

/// Not thread-safe.
class Output {
 public:
  /// Pieces of at most this many bytes are copied: one more entry of a gathering write costs as much.
  static constexpr size_t kCopiedBytes = 4096;

  void Copy(const void* data, size_t size);
  void Append(const std::shared_ptr<const void>& owner, const char* data, size_t size);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Fills at most `most` entries with what comes next. Returns how many.
  int Gather(iovec* entries, int most) const;
  /// Forgets the first `size` bytes.
  void Drop(size_t size);

 private:
  static constexpr size_t kBlockBytes = size_t{16} << 10;

  std::deque<Piece> pieces_;
  size_t size_ = 0;
  std::shared_ptr<char[]> block_;
  size_t block_used_ = 0;
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_OUTPUT_H_
