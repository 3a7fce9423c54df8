// Move of many short intervals to scattered destinations, by way of bins of the destination (move_bins.cu).
#ifndef CORANK_KERNELS_CUDA_INTERVALS_MOVE_BINS_H_
#define CORANK_KERNELS_CUDA_INTERVALS_MOVE_BINS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// A word on its way, and the destination's word it goes to, counted from BinState::low.
struct BinRecord {
  uint32_t to;
  uint32_t word;
};

/// What the survey found, on the device. Zero before.
struct BinState {
  int64_t low;              // word of the destination from which on there are bins
  uint32_t extent;          // words of the destination from there that have one
  uint32_t scale;           // interval_bins.h
  int32_t is_taken;         // 0: neighbouring intervals go to neighbouring places or are long; nothing went to bins
  unsigned long long left;  // intervals on the list of those that did not go to bins
};

/// Arrays in the workspace.
struct BinArrays {
  BinState* d_state = nullptr;  // null: Move takes no bins
  uint32_t* d_filled;           // records in each bin, behind d_state
  BinRecord* d_records;         // kBins times `capacity`
  uint32_t capacity;            // of a bin
  int64_t* d_left_counts;       // the list, as in MoveArgs
  int64_t* d_left_sources;
  int64_t* d_left_destinations;
  int64_t left_capacity;
};

/// Carves what the bins need, or nothing where, by what the host knows, they do not pay.
BinArrays CarveBins(const MoveArgs& args, Workspace& workspace);

/// Enqueues, where bins.d_state is not null: unless the survey decides against it, all intervals go to their
/// destinations but those on the list.
cudaError_t MoveThroughBins(const MoveArgs& args, const BinArrays& bins, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_INTERVALS_MOVE_BINS_H_
