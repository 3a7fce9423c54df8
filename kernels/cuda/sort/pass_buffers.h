// The arrays that the passes of an out-of-place sort write.
#ifndef CORANK_KERNELS_CUDA_SORT_PASS_BUFFERS_H_
#define CORANK_KERNELS_CUDA_SORT_PASS_BUFFERS_H_

#include <cstdint>

#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// Assigns arrays to passes. The last pass writes the result. Earlier passes alternate between one workspace array and
/// the memory of the result, or a second workspace array if the result cannot hold them.
class PassBuffers {
 public:
  /// Passes are numbered 0 to last_pass. d_result may be null if it is not wanted; Output(last_pass) is then null.
  PassBuffers(Workspace& workspace, void* d_result, bool result_is_whole, int64_t bytes, int last_pass)
      : d_result_(d_result), last_pass_(last_pass) {
    if (last_pass >= 1) d_near_ = workspace.CarveBytes(bytes);
    if (last_pass >= 2) d_far_ = d_result != nullptr && result_is_whole ? d_result : workspace.CarveBytes(bytes);
  }

  void* Output(int pass) const {
    if (pass == last_pass_) return d_result_;
    return (last_pass_ - pass) % 2 == 1 ? d_near_ : d_far_;
  }

 private:
  void* d_result_;
  int last_pass_;
  void* d_near_ = nullptr;
  void* d_far_ = nullptr;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_PASS_BUFFERS_H_
