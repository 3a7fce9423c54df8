#include "server/wire/output.h"

#include <algorithm>
#include <cstring>

namespace corank::wire {

void Output::Copy(const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    if (block_ == nullptr || block_used_ == kBlockBytes) {
      // An empty output's block is used again.
      if (block_ == nullptr || block_.use_count() > 1) block_ = std::shared_ptr<char[]>(new char[kBlockBytes]);
      block_used_ = 0;
    }
    const size_t count = std::min(size, kBlockBytes - block_used_);
    char* const to = block_.get() + block_used_;
    std::memcpy(to, from, count);
    if (!pieces_.empty() && pieces_.back().data + pieces_.back().size == to && pieces_.back().owner == block_) {
      pieces_.back().size += count;
    } else {
      pieces_.push_back({block_, to, count});
    }
    block_used_ += count;
    size_ += count;
    from += count;
    size -= count;
  }
}

void Output::Append(const std::shared_ptr<const void>& owner, const char* data, size_t size) {
  if (size <= kCopiedBytes) return Copy(data, size);
  pieces_.push_back({owner, data, size});
  size_ += size;
}

int Output::Gather(iovec* entries, int most) const {
  int count = 0;
  for (const Piece& piece : pieces_) {
    if (count == most) break;
    entries[count++] = {const_cast<char*>(piece.data), piece.size};
  }
  return count;
}

void Output::Drop(size_t size) {
  size_ -= size;
  while (size > 0) {
    Piece& first = pieces_.front();
    if (size < first.size) {
      first.data += size;
      first.size -= size;
      return;
    }
    size -= first.size;
    pieces_.pop_front();
  }
  if (pieces_.empty()) block_used_ = block_.use_count() == 1 ? 0 : kBlockBytes;
}

}  // namespace corank::wire
