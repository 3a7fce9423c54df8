// The rows of a join's result from its matches.
#ifndef CORANK_KERNELS_CUDA_JOIN_WRITE_ROWS_H_
#define CORANK_KERNELS_CUDA_JOIN_WRITE_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace corank::cuda {

/// The rows of the left that are in the result, in their order: up to `capacity` of them. All pointers: device memory.
struct JoinMatches {
  int64_t capacity = 0;       // > 0
  int64_t* starts = nullptr;  // the first row of the result of each. Ascending, without equals
  // Row numbers of JoinIndexBytes bytes. `lefts` has the complement of a row without a partner.
  void* lefts = nullptr;
  void* begins = nullptr;  // the position of the first partner among the sorted keys of the right
  // Of a look-back (look_back.cuh): the numbers of rows of the result, and of matches. Valid after the search.
  const unsigned long long* row_sum = nullptr;
  const unsigned long long* match_sum = nullptr;
};

/// The row numbers of the sorted keys of the right; null: their positions. row_bytes: 4 or 8, of each.
struct RightRows {
  const void* rows = nullptr;
  int row_bytes = 4;
};

/// Row numbers of index_bytes bytes, with room for `room` of them.
struct JoinedRowsOut {
  void* left = nullptr;
  void* right = nullptr;
  int64_t room = 0;
  int index_bytes = 4;
};

/// Enqueues the write of all rows that have a row of the left, unless there is no room for them. Never waits.
cudaError_t WriteJoinedRows(const JoinMatches& matches, const RightRows& right, const JoinedRowsOut& out,
                            cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_JOIN_WRITE_ROWS_H_
