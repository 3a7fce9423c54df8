// Memory that an operator may overwrite, in place of as much of its workspace.
#ifndef CORANK_KERNELS_COMMON_SPARE_MEMORY_H_
#define CORANK_KERNELS_COMMON_SPARE_MEMORY_H_

#include <cstdint>

namespace corank {

/// 256-byte aligned. Its contents are unspecified afterwards.
struct SpareMemory {
  void* memory = nullptr;
  int64_t bytes = 0;
};

/// Up to two of them, each for one array. Sizes alone decide, so that a workspace can be measured before there is
/// memory.
class SpareMemories {
 public:
  SpareMemories() = default;
  explicit SpareMemories(const SpareMemory (&spare)[2]) : spare_{spare[0], spare[1]} {}

  /// The first that an array of `bytes` bytes fits into and fills by half at least, so that no small array takes the
  /// place of a large one; null if none is left.
  void* Take(int64_t bytes) {
    for (SpareMemory& spare : spare_) {
      if (bytes == 0 || bytes > spare.bytes || bytes < spare.bytes / 2) continue;
      spare.bytes = 0;
      return spare.memory;
    }
    return nullptr;
  }

 private:
  SpareMemory spare_[2];
};

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_SPARE_MEMORY_H_
