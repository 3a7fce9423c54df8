// Selects the keys up to a threshold.
//
// Algorithm: SelectSampleKernel gives each warp a group of 32 vectors of 16 bytes, spread over the whole array at
//            jittered distances, and stores the least rank of the group: half a million samples of keys of 4 bytes
//            leave 4096 ranks. ThresholdKernel, one block, finds the n-th least of these by digits. SelectKernel reads
//            all keys. Each block stores the indices of the selected keys in shared memory. At its end, the block
//            takes places for all of their records at once. If that memory is full before, each warp takes places
//            for each further tile. A warp stops when no place is left.
// Work: O(n).
// Memory: one read of the keys, one write of the records of the selected ones.
// Workspace: a SelectionScratch, and the records.
// Stability: none; the order of the records shows the indices where they matter.
#include <algorithm>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/sort/select.h"
#include "kernels/cuda/sort/select_tile.cuh"
#include "kernels/cuda/sort/selected_record.cuh"
#include "kernels/cuda/sort/statistics_device.cuh"

namespace corank::cuda {
namespace {

using Tuning = SelectionTuning;

constexpr int kSampleThreads = 1024;
template <typename Bits>
struct Selection {
  const Bits* keys;
  int64_t count;
  SelectionPlan plan;
  SelectedRecords records;
  SelectionScratch* scratch;
  StatisticsLetter* letter;

  __device__ __forceinline__ Bits* least() const { return reinterpret_cast<Bits*>(scratch->least); }
};

/// Where SelectTile puts the keys.
template <typename Bits, bool kFloat>
struct SelectionSink {
  const KeyOrder<Bits, kFloat>& order;
  const Selection<Bits>& selection;

  __device__ __forceinline__ int64_t Take(uint32_t places) const {
    return static_cast<int64_t>(atomicAdd(&selection.scratch->selected, static_cast<unsigned long long>(places)));
  }
  __device__ __forceinline__ int64_t Capacity() const { return selection.plan.capacity; }
  __device__ __forceinline__ void Put(int64_t place, int64_t index) const {
    const Bits raw = selection.keys[index];  // again: to carry it along takes registers or memory
    selection.records.Put(place, index, raw, order.RankOfRaw(raw));
  }
};

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(kSampleThreads)
    SelectSampleKernel(const KeyOrder<Bits, kFloat> order, const Selection<Bits> selection) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  static_assert(Tuning::kGroupVectors == 32);
  const int64_t thread = int64_t{blockIdx.x} * kSampleThreads + threadIdx.x;
  const int64_t head = KeyVector<Bits>::CountBefore(selection.keys, selection.count);
  const int64_t vectors = (selection.count - head) / kPer;
  // Lanes of a warp are far apart, so that sorted keys spread over all groups.
  const int64_t part = threadIdx.x % 32 * int64_t{Tuning::kGroups} + thread / 32;
  uint32_t jitter;
  KeyVector<Bits> vector;
  vector.Load(selection.keys + head +
              kPer * SampledPlace(part, int64_t{Tuning::kGroups} * Tuning::kGroupVectors, vectors, &jitter));
  Bits least = order.RankOfRaw(vector.keys[0]);
#pragma unroll
  for (int i = 1; i < kPer; ++i) {
    const Bits rank = order.RankOfRaw(vector.keys[i]);
    const bool takes = selection.plan.whole_vectors ? rank < least : jitter % kPer == i;
    least = takes ? rank : least;
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const Bits other = static_cast<Bits>(__shfl_xor_sync(kAllLanes, least, step));
    least = other < least ? other : least;
  }
  if (threadIdx.x % 32 == 0) selection.least()[thread / 32] = least;

  if (!selection.plan.SortsBlindly()) return;
  const int64_t threads = int64_t{gridDim.x} * kSampleThreads;
  for (int64_t i = thread; i < selection.plan.likely; i += threads) {
    if (selection.plan.form == SelectedForm::kWords) {
      static_cast<uint64_t*>(selection.records.records)[i] = ~uint64_t{0};
    } else {
      static_cast<Bits*>(selection.records.records)[i] = order.Decode(static_cast<Bits>(~Bits{0}));
    }
  }
}

template <typename Bits>
__global__ void __launch_bounds__(kThresholdThreads) ThresholdKernel(const Selection<Bits> selection) {
  __shared__ ThresholdShared shared;
  Bits ranks[kThresholdItems];
#pragma unroll
  for (int i = 0; i < kThresholdItems; ++i) ranks[i] = selection.least()[i * kThresholdThreads + threadIdx.x];
  const Bits threshold = RankOfNumber(ranks, static_cast<uint32_t>(selection.plan.number), shared);
  if (threadIdx.x != 0) return;
  selection.scratch->threshold = threshold;
  selection.scratch->selected = 0;
  selection.scratch->blocks_done = 0;
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    SelectKernel(const KeyOrder<Bits, kFloat> order, const Selection<Bits> selection) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kTile = Tuning::kThreads * Tuning::kVectors * kPer;
  const Bits threshold = static_cast<Bits>(selection.scratch->threshold);
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t head = KeyVector<Bits>::CountBefore(selection.keys, selection.count);
  const int64_t vectors_end = selection.count - (selection.count - head) % kPer;
  __shared__ NotedHits<> noted;
  const NotingSink<SelectionSink<Bits, kFloat>> sink{{order, selection}, noted};
  sink.Begin();
  __syncthreads();
  bool has_room = true;
  int64_t tile = head + int64_t{blockIdx.x} * kTile;
  for (; has_room && tile + kTile <= vectors_end; tile += int64_t{gridDim.x} * kTile) {
    has_room = SelectTile<true>(order, selection.keys, threshold, tile + thread * kPer, vectors_end, sink);
  }
  if (has_room && tile < vectors_end) {
    SelectTile<false>(order, selection.keys, threshold, tile + thread * kPer, vectors_end, sink);
  }
  if (blockIdx.x == 0 && thread < 32) {  // the keys before and after the vectors
    const int64_t at = thread < head ? thread : vectors_end + thread - head;
    const bool is_hit = at < selection.count && order.RankOfRaw(selection.keys[at]) <= threshold;
    PutHits<Bits>(is_hit ? 1 : 0, at, sink);
  }
  sink.End();
  if (thread != 0 || !IsLastBlock(&selection.scratch->blocks_done)) return;
  selection.letter->selected = *static_cast<volatile unsigned long long*>(&selection.scratch->selected);
  SendLetter(selection.letter);
}

template <typename Bits>
__global__ void __launch_bounds__(Tuning::kThreads)
    WriteSelectedKernel(const uint64_t* words, const Bits* keys, int64_t count, Bits* keys_out, uint32_t* indices,
                        int64_t results) {
  const int64_t i = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x;
  if (i >= results) return;
  const auto index = static_cast<uint32_t>(words[i]);
  const uint32_t valid = index < count ? index : 0;
  indices[i] = valid;
  if (keys_out != nullptr) keys_out[i] = keys[valid];
}

template <typename Bits>
cudaError_t Write(const SortArgs& args, const uint64_t* d_words, uint32_t* d_indices, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(args.ResultCount(), Tuning::kThreads));
  WriteSelectedKernel<<<blocks, Tuning::kThreads, 0, stream>>>(d_words, static_cast<const Bits*>(args.keys_in),
                                                               args.count, static_cast<Bits*>(args.keys_out), d_indices,
                                                               args.ResultCount());
  return cudaGetLastError();
}

}  // namespace

cudaError_t SelectKeys(const SortArgs& args, const SelectionPlan& plan, void* d_records, SelectionScratch* d_scratch,
                       StatisticsLetter* h_letter, cudaStream_t stream) {
  return WithKeyOrder(args.key_type, args.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    if constexpr (sizeof(Bits) == 1) {
      return cudaErrorInvalidValue;  // no plan selects these
    } else {
      const Selection<Bits> selection{static_cast<const Bits*>(args.keys_in),
                                      args.count,
                                      plan,
                                      {d_records, plan.form, IndexBytes(args.count - 1)},
                                      d_scratch,
                                      h_letter};
      SelectSampleKernel<<<32 * Tuning::kGroups / kSampleThreads, kSampleThreads, 0, stream>>>(order, selection);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
      ThresholdKernel<<<1, kThresholdThreads, 0, stream>>>(selection);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
      const int64_t tile = int64_t{Tuning::kThreads} * Tuning::kVectors * KeyVector<Bits>::kPer;
      const int64_t blocks = std::min<int64_t>(CeilDiv(args.count, tile), Tuning::kBlocks * kTunedMultiprocessors);
      SelectKernel<<<static_cast<unsigned>(blocks), Tuning::kThreads, 0, stream>>>(order, selection);
      return cudaGetLastError();
    }
  });
}

cudaError_t WriteSelected(const SortArgs& args, const uint64_t* d_words, uint32_t* d_indices, cudaStream_t stream) {
  return KeyBytes(args.key_type) == 2 ? Write<uint16_t>(args, d_words, d_indices, stream)
                                      : Write<uint32_t>(args, d_words, d_indices, stream);
}

}  // namespace corank::cuda
