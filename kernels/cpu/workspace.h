// Cuts an operator's workspace into arrays. The same code measures (without memory) and cuts, so that an operator
// cannot use other bytes than it requests.
#ifndef CORANK_KERNELS_CPU_WORKSPACE_H_
#define CORANK_KERNELS_CPU_WORKSPACE_H_

#include <cstdint>

#include "kernels/common/spare_memory.h"

namespace corank::cpu {

class Workspace {
 public:
  /// `base`: 256-byte aligned, or null to measure only.
  /// Arrays that fit into `spare` lie there.
  explicit Workspace(void* base, const SpareMemories& spare = {}) : base_(static_cast<char*>(base)), spare_(spare) {}

  /// The next `count` elements, 256-byte aligned; null when measuring.
  template <typename T>
  T* Take(int64_t count) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    if (void* const spare = spare_.Take(bytes); spare != nullptr) return static_cast<T*>(spare);
    char* taken = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (bytes + 255) / 256 * 256;
    return reinterpret_cast<T*>(taken);
  }

  int64_t used_bytes() const { return used_; }

 private:
  char* base_;
  SpareMemories spare_;
  int64_t used_ = 0;
};

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_WORKSPACE_H_
