// Finds the heads of frames in the bytes of a connection.
#ifndef CORANK_SERVER_WIRE_FRAME_HEADS_H_
#define CORANK_SERVER_WIRE_FRAME_HEADS_H_

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace corank::wire {

/// Follows the frames that a client sends (RFC 9113, 3.4 and 4.1), in whatever pieces their bytes come. The server
/// needs it for frames that nghttp2 drops without a word. Not thread-safe.
class FrameHeads {
 public:
  /// Takes the next bytes of the connection, all of them or up to the last byte of the head of a DATA frame, and
  /// returns how many it took. `*stream`: of that DATA frame; 0 if there is none.
  size_t TakeToData(absl::string_view bytes, int32_t* stream) {
    *stream = 0;
    size_t taken = 0;
    while (taken < bytes.size()) {
      if (left_ > 0) {
        const size_t passed = std::min(left_, bytes.size() - taken);
        left_ -= passed;
        taken += passed;
        continue;
      }
      head_[head_bytes_++] = static_cast<uint8_t>(bytes[taken++]);
      if (head_bytes_ < head_.size()) continue;
      head_bytes_ = 0;
      left_ = size_t{head_[0]} << 16 | size_t{head_[1]} << 8 | head_[2];
      if (head_[3] != NGHTTP2_DATA) continue;
      *stream = static_cast<int32_t>((head_[5] & 0x7fu) << 24 | uint32_t{head_[6]} << 16 | uint32_t{head_[7]} << 8 |
                                     head_[8]);
      if (*stream != 0) break;
    }
    return taken;
  }

 private:
  size_t left_ = NGHTTP2_CLIENT_MAGIC_LEN;  // bytes before the next head
  std::array<uint8_t, 9> head_ = {};
  size_t head_bytes_ = 0;  // of the head under way
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_FRAME_HEADS_H_
