// The rows' codes, and what the device keeps of how they are made.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_COLUMN_CODES_H_
#define CORANK_KERNELS_CUDA_COLUMNS_COLUMN_CODES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/row_code.h"

namespace corank::cuda {

/// In device memory.
struct CodeState {
  unsigned long long bases[kMaxKeyColumns];
  RowSurvey survey;
  RowCode code;
};

/// Enqueues the survey of all rows, the choice of d_state->code by it, and d_codes[row] = the row's code. `order` then
/// knows the bases in d_state. count > 0.
cudaError_t MakeCodes(RowOrder& order, int64_t count, CodeState* d_state, uint64_t* d_codes, cudaStream_t stream);

/// Enqueues the halves of the codes of rows whose streams have at most 8 bytes, which are those bytes: d_high[row] has
/// the first 4, d_low[row], unless d_low is null, the others. count > 0.
cudaError_t MakeCodeHalves(const RowOrder& order, int64_t count, uint32_t* d_low, uint32_t* d_high,
                           cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_COLUMN_CODES_H_
