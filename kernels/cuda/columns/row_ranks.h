// Ranks of sorted rows.
#ifndef CORANK_KERNELS_CUDA_COLUMNS_ROW_RANKS_H_
#define CORANK_KERNELS_CUDA_COLUMNS_ROW_RANKS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/row_order.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// Carves its workspace. Unless it only sizes, enqueues d_ranks[d_rows[i]] = 1 plus how many distinct rows come before
/// row d_rows[i], for i in [0, count). d_rows: all row numbers in the order of the rows. d_codes: null, or the code of
/// row d_rows[i]; rows with different codes differ. Row numbers have index_bytes bytes, 4 or 8, and ranks
/// IndexBytes(count). count > 0.
cudaError_t RankRows(const RowOrder& order, const uint64_t* d_codes, const void* d_rows, int index_bytes, int64_t count,
                     void* d_ranks, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COLUMNS_ROW_RANKS_H_
