// The codes of rows, and the device's record of how they are made.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_COLUMN_CODES_H_
#define CORANK_KERNELS_CUDA_COLUMNS_COLUMN_CODES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/row_code.h"

namespace corank::cuda {

/// Lies in device memory.
struct CodeState {
  unsigned long long bases[RowOrder::kMaxColumns];
  RowSurvey survey;
  RowCode code;
  unsigned long long unsorted;  // a FaultCell (operator_report.cuh): the first row of a run that is out of order
};

/// Enqueues the survey of all rows, the choice of d_state->code, and d_codes[row] = the code of the row. Gives `order`
/// the bases in d_state. count > 0.
cudaError_t MakeCodes(RowOrder& order, int64_t count, CodeState* d_state, uint64_t* d_codes, cudaStream_t stream);

/// For rows whose streams have at most 8 bytes, which are their codes. Enqueues the halves of the codes: d_high[row]
/// gets the first 4 bytes and d_low[row], unless d_low is null, the others. count > 0.
cudaError_t MakeCodeHalves(const RowOrder& order, int64_t count, uint32_t* d_low, uint32_t* d_high,
                           cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_COLUMN_CODES_H_
