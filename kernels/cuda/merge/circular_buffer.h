// The index arithmetic of a circular buffer in shared memory.
//
// Source: W. W. Hwu, D. B. Kirk, I. El Hajj, "Programming Massively Parallel Processors", 4th ed., section 12.6.
#ifndef CORANK_KERNELS_CUDA_MERGE_CIRCULAR_BUFFER_H_
#define CORANK_KERNELS_CUDA_MERGE_CIRCULAR_BUFFER_H_

#include "kernels/common/types.h"

namespace corank::cuda {

/// A queue in `capacity` slots owned by the caller. The caller consumes elements at the front and refills their slots
/// at the back. A value type: every thread of a block keeps the same copy.
template <typename T>
class CircularBuffer {
 public:
  CORANK_HOST_DEVICE CircularBuffer(T* slots, int capacity) : slots_(slots), capacity_(capacity) {}

  CORANK_HOST_DEVICE int size() const { return size_; }
  /// Free slots.
  CORANK_HOST_DEVICE int room() const { return capacity_ - size_; }
  /// Element i from the front, 0 <= i < capacity. For i >= size() it is a slot to fill.
  CORANK_HOST_DEVICE T& operator[](int i) const {
    const int slot = front_ + i;
    return slots_[slot >= capacity_ ? slot - capacity_ : slot];
  }
  /// Adds the first `count` <= room() slots after the back, which the caller has filled.
  CORANK_HOST_DEVICE void Push(int count) { size_ += count; }
  /// Removes the first `count` <= size() elements.
  CORANK_HOST_DEVICE void Pop(int count) {
    front_ += count;
    if (front_ >= capacity_) front_ -= capacity_;
    size_ -= count;
  }

 private:
  T* slots_;
  int capacity_;
  int front_ = 0;
  int size_ = 0;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_MERGE_CIRCULAR_BUFFER_H_
