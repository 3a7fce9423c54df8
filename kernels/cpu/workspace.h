// Cuts an operator's workspace into arrays. The same code measures (without memory) and cuts, so that an operator
// cannot use other bytes than it requests.
#ifndef CORANK_KERNELS_CPU_WORKSPACE_H_
#define CORANK_KERNELS_CPU_WORKSPACE_H_

#include <cstdint>

namespace corank::cpu {

class Workspace {
 public:
  /// `base`: 256-byte aligned, or null to measure only.
  explicit Workspace(void* base) : base_(static_cast<char*>(base)) {}

  /// The next `count` elements, 256-byte aligned; null when measuring.
  template <typename T>
  T* Take(int64_t count) {
    char* taken = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (count * static_cast<int64_t>(sizeof(T)) + 255) / 256 * 256;
    return reinterpret_cast<T*>(taken);
  }

  int64_t used_bytes() const { return used_; }

 private:
  char* base_;
  int64_t used_ = 0;
};

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_WORKSPACE_H_
