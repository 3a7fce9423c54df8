// Bytes of messages, in pieces that others own, so that they are sent, and read, from where they lie.
#ifndef CORANK_SERVER_BASE_BYTES_H_
#define CORANK_SERVER_BASE_BYTES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace corank {

/// `size` bytes at `data`. `owner` keeps them; they do not change while it does.
struct Piece {
  std::shared_ptr<const void> owner;
  const char* data = nullptr;
  size_t size = 0;
};

/// Pieces one after the other. Copies share the pieces.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    const std::string& kept = *owner;
    Append({std::move(owner), kept.data(), kept.size()});
  }

  void Append(Piece piece) {
    size_ += piece.size;
    if (piece.size > 0) pieces_.push_back(std::move(piece));
  }
  void Append(const Bytes& more) {
    for (const Piece& piece : more.pieces_) Append(piece);
  }
  size_t size() const { return size_; }
  const absl::InlinedVector<Piece, 2>& pieces() const { return pieces_; }
  /// A copy of all bytes.
  std::string ToString() const {
    std::string text;
    text.reserve(size_);
    for (const Piece& piece : pieces_) text.append(piece.data, piece.size);
    return text;
  }

 private:
  absl::InlinedVector<Piece, 2> pieces_;
  size_t size_ = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_BASE_BYTES_H_
