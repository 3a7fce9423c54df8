// When bytes came that a busy loop reads later.
#ifndef CORANK_SERVER_WIRE_ARRIVALS_H_
#define CORANK_SERVER_WIRE_ARRIVALS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "server/base/clock.h"

namespace corank::wire {

/// Notes after each read how many bytes had come, so that the next ones can be dated. Not thread-safe.
class Arrivals {
 public:
  explicit Arrivals(Instant began) : dated_(began) {}

  /// So many bytes were read, and `left` bytes are there and were not, at `now`.
  void Take(size_t read, size_t left, Instant now) {
    read_ += read;
    const uint64_t came = read_ + left;
    if (notes_.empty() || notes_.back().came < came) {
      notes_.push_back({came, now});
    } else {
      notes_.back().seen = now;  // nothing has come since
    }
  }

  /// The bytes that are read next have come after this. `since`: the same of bytes that were not there at the last
  /// Take.
  Instant CameSince(Instant since) {
    for (; !notes_.empty() && notes_.front().came <= read_; notes_.pop_front()) dated_ = notes_.front().seen;
    return notes_.empty() ? std::max(dated_, since) : dated_;
  }

 private:
  struct Note {
    uint64_t came;  // bytes in all
    Instant seen;
  };

  std::deque<Note> notes_;  // the oldest first; it covers the bytes that are read next
  uint64_t read_ = 0;
  Instant dated_;  // what no note covers has come after this
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_ARRIVALS_H_
