// The records of selected keys.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECTED_RECORD_CUH_
#define CORANK_KERNELS_CUDA_SORT_SELECTED_RECORD_CUH_

#include <cstdint>

#include "kernels/cuda/sort/selection_rules.h"

namespace corank::cuda {

/// An array of records of one form.
struct SelectedRecords {
  void* records;
  SelectedForm form;
  int index_bytes;

  template <typename Bits>
  __device__ __forceinline__ void Put(int64_t place, int64_t index, Bits raw, Bits rank) const {
    if (form == SelectedForm::kKeys) {
      static_cast<Bits*>(records)[place] = raw;
    } else if (form == SelectedForm::kWords) {
      static_cast<uint64_t*>(records)[place] = static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(index);
    } else if (index_bytes == 4) {
      static_cast<uint32_t*>(records)[place] = static_cast<uint32_t>(index);
    } else {
      static_cast<int64_t*>(records)[place] = index;
    }
  }
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECTED_RECORD_CUH_
