// Moves many short intervals to scattered destinations, through bins of the destination (move_bins.cu).
#ifndef CORANK_KERNELS_CUDA_INTERVALS_MOVE_BINS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_MOVE_BINS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// A word in transit, and its destination word, counted from BinState::low.
struct BinRecord {
  uint32_t to;
  uint32_t word;
};

/// The results of the survey, on the device. Zero before.
struct BinState {
  int64_t low;              // the first word of the destination that has a bin
  uint32_t extent;          // words of the destination from there on that have a bin
  uint32_t scale;           // interval_bins.h
  int32_t is_taken;         // 0: adjacent intervals go to adjacent places, or are long; nothing went to bins
  unsigned long long left;  // intervals on the list of those that did not go to bins
};

/// Arrays in the workspace.
struct BinArrays {
  BinState* d_state = nullptr;  // null: Move uses no bins
  uint32_t* d_filled;           // records in each bin, after d_state
  BinRecord* d_records;         // kBins times `capacity`
  uint32_t capacity;            // of a bin
  int64_t* d_left_counts;       // the list of remaining intervals, as in MoveArgs
  int64_t* d_left_sources;
  int64_t* d_left_destinations;
  int64_t left_capacity;
};

/// Carves the arrays of the bins, or nothing if the host knows that bins do not pay.
BinArrays CarveBins(const MoveArgs& args, Workspace& workspace);

/// Enqueues the kernels if bins.d_state is not null. Unless the survey decides against it, they move all intervals
/// except those on the list.
cudaError_t MoveThroughBins(const MoveArgs& args, const BinArrays& bins, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_MOVE_BINS_H_
