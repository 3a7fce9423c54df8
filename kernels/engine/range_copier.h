// Copies ranges of device memory to the host.
#ifndef CORANK_KERNELS_ENGINE_RANGE_COPIER_H_
#define CORANK_KERNELS_ENGINE_RANGE_COPIER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

/// Ranges of the elements of an array.
class Ranges {
 public:
  /// `count` elements from `first` on, whose copies take the room of `room` elements, `count` or more.
  void Add(int64_t first, int64_t count, int64_t room) {
    from_.push_back(first);
    to_.push_back(end_);
    counts_.push_back(count);
    total_ += count;
    end_ += room;
  }
  int64_t size() const { return static_cast<int64_t>(from_.size()); }
  /// Elements of all ranges.
  int64_t total() const { return total_; }
  /// The room of all copies.
  int64_t end() const { return end_; }

 private:
  friend class RangeCopier;
  std::vector<int64_t> from_, to_, counts_;
  int64_t total_ = 0, end_ = 0;
};

/// Copies the same ranges of several arrays: one kernel puts them together, and one copy takes them to the host.
class RangeCopier {
 public:
  /// The pointees outlive this object. The stream has begun.
  RangeCopier(EngineStream* stream, const Ranges& ranges) : stream_(stream), ranges_(ranges) {}

  /// Upper bounds of the device memory that the stream hands out, once and for each array.
  static int64_t RangesBytes(int64_t ranges);
  static int64_t DeviceBytes(int32_t element_bytes, int64_t ranges, int64_t room, const Engine& engine);

  /// Enqueues the copies of an array in device memory: 1 element or more of 1 to kMaxRecordBytes bytes. Returns pinned
  /// memory of the stream, which has them once the stream has finished. `report` must live until then.
  absl::StatusOr<char*> CopyToHost(const void* d_array, int32_t element_bytes, OperatorReport* report);

 private:
  absl::Status Upload(const std::vector<int64_t>& numbers, const int64_t** d_numbers);

  EngineStream* const stream_;
  const Ranges& ranges_;
  MoveArgs move_;  // without arrays, until the ranges are on the device
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_RANGE_COPIER_H_
