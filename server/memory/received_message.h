// A message that has come.
#ifndef CORANK_SERVER_MEMORY_RECEIVED_MESSAGE_H_
#define CORANK_SERVER_MEMORY_RECEIVED_MESSAGE_H_

#include <algorithm>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "kernels/engine/budget.h"
#include "server/base/bytes.h"

namespace corank {

/// Owns its memory: that of its payloads in the pool, and the room in the budget of messages for the rest.
struct ReceivedMessage {
  Bytes bytes;
  /// Where pieces begin that are payloads in memory of the HostPool, aligned as operands are.
  absl::InlinedVector<const char*, 2> pinned;
  absl::InlinedVector<Budget::Reservation, 1> room;  // for everything else

  std::vector<absl::string_view> pieces() const {
    std::vector<absl::string_view> views;
    views.reserve(bytes.pieces().size());
    for (const Piece& piece : bytes.pieces()) views.emplace_back(piece.data, piece.size);
    return views;
  }
  bool IsPinned(const Piece& piece) const {
    return std::find(pinned.begin(), pinned.end(), piece.data) != pinned.end();
  }
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_RECEIVED_MESSAGE_H_
