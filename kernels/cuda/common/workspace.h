// Cuts a workspace into arrays. The same code counts the bytes (without memory) and hands them out, so that the two
// never differ:
//
//   cudaError_t Run(const Args& args, Workspace& workspace, cudaStream_t stream) {
//     int64_t* d_partition = workspace.Carve<int64_t>(tiles + 1);
//     if (workspace.IsSizing()) return cudaSuccess;
//     ...launch...
//   }
#ifndef CORANK_KERNELS_CUDA_COMMON_WORKSPACE_H_
#define CORANK_KERNELS_CUDA_COMMON_WORKSPACE_H_

#include <cstdint>

#include "kernels/common/spare_memory.h"

namespace corank::cuda {

/// A bump allocator over device memory that the caller owns. Not thread-safe.
class Workspace {
 public:
  /// The alignment of each array, in bytes. The base must have it too.
  static constexpr int64_t kAlignment = 256;

  /// Only counts bytes.
  Workspace() = default;
  /// Hands out device memory from d_base, which may be null if no bytes are needed.
  explicit Workspace(void* d_base) : d_base_(static_cast<char*>(d_base)), is_sizing_(false) {}

  /// Counts the bytes needed after the arrays that `other` has handed out, and includes those.
  static Workspace SizingAfter(const Workspace& other) {
    Workspace sizing;
    sizing.spare_ = other.spare_;
    sizing.bytes_ = other.bytes_;
    return sizing;
  }

  /// The same workspace, but arrays that fit into `spare` lie there.
  Workspace With(const SpareMemories& spare) const {
    Workspace both = *this;
    both.spare_ = spare;
    return both;
  }

  bool IsSizing() const { return is_sizing_; }
  /// Bytes handed out so far.
  int64_t bytes() const { return bytes_; }

  /// `bytes` uninitialised bytes; null for 0 bytes. While sizing, returns a meaningless address that is not null, so
  /// that code which tests for an array takes the same branch as in the run.
  void* CarveBytes(int64_t bytes) {
    if (void* const spare = spare_.Take(bytes); spare != nullptr) return spare;
    char* const array = bytes == 0 || d_base_ == nullptr ? nullptr : d_base_ + bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return array;
  }
  template <typename T>
  T* Carve(int64_t count) {
    return static_cast<T*>(CarveBytes(count * static_cast<int64_t>(sizeof(T))));
  }

 private:
  char* d_base_ = reinterpret_cast<char*>(kAlignment);
  bool is_sizing_ = true;
  SpareMemories spare_;
  int64_t bytes_ = 0;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_WORKSPACE_H_
