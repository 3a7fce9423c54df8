// Moves from an array that lies in parts on several devices.
#ifndef CORANK_KERNELS_ENGINE_PART_MOVES_H_
#define CORANK_KERNELS_ENGINE_PART_MOVES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/common/operators.h"
#include "kernels/engine/engine.h"

namespace corank {

/// The host cuts intervals where the parts of their source meet. One Move for each part then reads its elements, over
/// the link if the part is on another device. Used for one request of a stream.
class PartMoves {
 public:
  /// Device memory, and as much pinned memory, for each interval of a source in so many parts.
  static int64_t IntervalBytes(int64_t parts) { return kNumbers * parts * static_cast<int64_t>(sizeof(int64_t)); }
  /// Workspace of the moves of so many intervals with `total` elements.
  static int64_t WorkspaceBytes(const MoveArgs& args, int64_t parts, const Engine& engine);

  /// Elements [begin, end) of the source, in the memory of a device.
  struct Part {
    int64_t begin = 0, end = 0;
    const void* elements = nullptr;
  };

  /// `parts`: in order, without gaps.
  PartMoves(EngineStream& stream, std::vector<Part> parts);

  /// Call these in this order; Add for `most_intervals` intervals at most.
  absl::Status Begin(int64_t most_intervals);
  void Add(int64_t from, int64_t to, int64_t count);
  /// Enqueues copies of the intervals.
  absl::Status Copy();
  /// Enqueues the moves. `args`: the destination. No overlap is checked.
  absl::Status Run(MoveArgs args, OperatorReport* report) const;

 private:
  // An interval that lies in one part takes this many numbers: where it begins there and in the destination, and its
  // count.
  static constexpr int64_t kNumbers = 3;

  struct Cut {
    Part part;
    int64_t* h_numbers = nullptr;
    int64_t intervals = 0, total = 0;
    const int64_t* d_numbers = nullptr;
  };

  EngineStream& stream_;
  int64_t most_intervals_ = 0;
  std::vector<Cut> cuts_;  // by part
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_PART_MOVES_H_
