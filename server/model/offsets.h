// Offsets that divide an array into parts, such as strings or segments.
#ifndef CORANK_SERVER_MODEL_OFFSETS_H_
#define CORANK_SERVER_MODEL_OFFSETS_H_

#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/model/operand.h"

namespace corank {

/// The elements of an INT64 array at any alignment.
class Int64View {
 public:
  Int64View(const void* bytes, int64_t count) : bytes_(static_cast<const char*>(bytes)), count_(count) {}
  /// Empty until the elements have arrived (Operand::is_pending).
  explicit Int64View(const Operand& operand) : Int64View(operand.bytes, operand.is_pending ? 0 : operand.count) {}
  int64_t size() const { return count_; }
  int64_t operator[](int64_t i) const {
    int64_t value;
    std::memcpy(&value, bytes_ + i * static_cast<int64_t>(sizeof(value)), sizeof(value));
    return value;
  }

 private:
  const char* bytes_;
  int64_t count_;
};

/// Checks that offsets rise from 0 to last_offset, the number of `elements` (such as "keys") that they divide into
/// `parts` (such as "segments"). Without last_offset, does not check the last one. `field`: the path of the offsets.
absl::Status CheckRisingOffsets(const Int64View& offsets, absl::string_view field, std::optional<int64_t> last_offset,
                                absl::string_view parts, absl::string_view elements);

/// Elements that a sort of `count` elements returns: `limit` of all from `offset` on, or the first `limit` of each
/// segment. `limit`: -1 for all. `segment_offsets`: checked, or pending; the most that there can be while they are
/// pending.
int64_t LimitedCount(int64_t count, int64_t offset, int64_t limit, const std::optional<Operand>& segment_offsets);

/// Elements of each of its sorted parts that may be among its results: the first ones. -1: all.
int64_t KeptOfParts(int64_t offset, int64_t limit);

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_OFFSETS_H_
