// The first keys of each of a few long segments.
//
// Algorithm: SegmentSampleKernel, a block for each segment that one block cannot sort, takes samples as
//            SelectSampleKernel does, finds the threshold, and lists the segment's parts. SegmentSelectKernel reads all
//            of these and stores the indices of the keys up to their threshold; its last block checks the numbers.
//            SegmentSortKernel, a block for each segment, sorts what was selected, by rank and index, and writes the
//            first keys to their packed places, which one more block of the first kernel has summed up.
// Work: O(n + segments * c log c), where c keys of a segment are selected.
// Memory: one read of the keys; samples and selected keys besides.
// Workspace: 32 KiB for each segment, at most 1 byte for each key; 40 bytes for each 64 KiB of keys.
// Stability: by index.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/sort/segment_first.h"
#include "kernels/cuda/sort/select_tile.cuh"
#include "kernels/cuda/sort/small_tile_sort.cuh"
#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {
namespace {

using Tuning = SegmentSelectionTuning;

constexpr int kSelectThreads = SelectionTuning::kThreads;
constexpr int kSortThreads = 1024;
constexpr int kSortItems = Tuning::kCapacity / kSortThreads;

/// A part of a segment, whole vectors.
struct SegmentUnit {
  int64_t at, end;
  int64_t segment, segment_begin;
  uint64_t threshold;
};

struct SegmentState {
  int64_t valid_results;  // to gather: none after a failure
  uint32_t units;
  uint32_t failed;
  uint32_t blocks_done;
};

struct SegmentFirst {
  const void* keys;
  const int64_t* offsets;
  int64_t segment_count;
  int64_t limit;
  SegmentState* state;
  uint32_t* selected;    // keys of each segment
  uint32_t* candidates;  // kCapacity of each segment: indices in the segment
  int64_t* places;       // of each segment's results, and their number
  SegmentUnit* units;
  void* keys_out;     // null: the caller does not want keys
  uint32_t* indices;  // null: nobody wants indices
  int64_t* results;   // null, or the number of results
  StatisticsLetter* letter;
};

template <typename Bits>
constexpr int TileKeys() {
  return kSelectThreads * SelectionTuning::kVectors * KeyVector<Bits>::kPer;
}

struct SegmentSink {
  uint32_t* taken;
  uint32_t* candidates;
  int64_t begin;

  __device__ __forceinline__ int64_t Take(uint32_t places) const { return atomicAdd(taken, places); }
  __device__ __forceinline__ int64_t Capacity() const { return Tuning::kCapacity; }
  __device__ __forceinline__ void Put(int64_t place, int64_t index) const {
    candidates[place] = static_cast<uint32_t>(index - begin);
  }
};

__device__ __forceinline__ SegmentSink SinkOf(const SegmentFirst& pass, int64_t segment, int64_t begin) {
  return {pass.selected + segment, pass.candidates + segment * Tuning::kCapacity, begin};
}

/// The sums of the segments' results before each. One block of 1024 threads calls it.
__device__ void SumPlaces(const SegmentFirst& pass) {
  __shared__ int64_t warp_sums[32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  int64_t before = 0;
  for (int64_t first = 0; first < pass.segment_count; first += kThresholdThreads) {
    const int64_t segment = first + thread;
    const bool exists = segment < pass.segment_count;
    const int64_t length = exists ? pass.offsets[segment + 1] - pass.offsets[segment] : 0;
    const int64_t own = length < pass.limit ? length : pass.limit;
    int64_t end = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int64_t other = __shfl_up_sync(kAllLanes, end, step);
      if (lane >= step) end += other;
    }
    if (lane == 31) warp_sums[warp] = end;
    __syncthreads();
    int64_t all = 0;
    for (int i = 0; i < kThresholdThreads / 32; ++i) {
      if (i == warp) end += all;
      all += warp_sums[i];
    }
    if (exists) pass.places[segment] = before + end - own;
    before += all;
    __syncthreads();
  }
  if (thread != 0) return;
  pass.places[pass.segment_count] = before;
  if (pass.results != nullptr) *pass.results = before;
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(kThresholdThreads)
    SegmentSampleKernel(const KeyOrder<Bits, kFloat> order, const SegmentFirst pass) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int64_t kUnit = int64_t{Tuning::kUnitTiles} * TileKeys<Bits>();
  constexpr Bits kAll = static_cast<Bits>(~Bits{0});
  __shared__ ThresholdShared shared;
  __shared__ uint32_t first_unit;
  const int64_t segment = blockIdx.x;
  if (segment == pass.segment_count) return SumPlaces(pass);
  const auto* const keys = static_cast<const Bits*>(pass.keys);
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t begin = pass.offsets[segment], end = pass.offsets[segment + 1], length = end - begin;
  if (length <= Tuning::kCapacity) return;
  const int64_t vectors_begin = begin + KeyVector<Bits>::CountBefore(keys + begin, length);
  const int64_t vectors = (end - vectors_begin) / kPer, vectors_end = vectors_begin + vectors * kPer;

  const int rounds = SegmentSampleRounds(length, pass.limit, kPer);
  Bits least[kThresholdItems];
#pragma unroll
  for (Bits& rank : least) rank = kAll;
  for (int round = 0; round < rounds; ++round) {
    KeyVector<Bits> sampled[kThresholdItems];
#pragma unroll
    for (int i = 0; i < kThresholdItems; ++i) {
      // The samples of a group are far apart.
      const int64_t part = int64_t{round} * SelectionTuning::kGroups + i * kThresholdThreads + thread;
      uint32_t jitter;
      sampled[i].Load(keys + vectors_begin +
                      kPer * SampledPlace(part, int64_t{rounds} * SelectionTuning::kGroups, vectors, &jitter));
    }
#pragma unroll
    for (int i = 0; i < kThresholdItems; ++i) {
#pragma unroll
      for (int k = 0; k < kPer; ++k) {
        const Bits rank = order.RankOfRaw(sampled[i].keys[k]);
        least[i] = rank < least[i] ? rank : least[i];
      }
    }
  }
  const double part = static_cast<double>(pass.limit) / static_cast<double>(length);
  const int number = ThresholdNumber(part, rounds * kPer);
  const Bits threshold =
      number <= SelectionTuning::kGroups ? RankOfNumber(least, static_cast<uint32_t>(number), shared) : kAll;

  const auto units = static_cast<uint32_t>(CeilDiv(vectors_end - vectors_begin, kUnit));
  if (thread == 0) first_unit = atomicAdd(&pass.state->units, units);
  __syncthreads();
  for (uint32_t unit = thread; unit < units; unit += kThresholdThreads) {
    const int64_t at = vectors_begin + unit * kUnit;
    pass.units[first_unit + unit] = {at, min(at + kUnit, vectors_end), segment, begin, threshold};
  }
  if (thread < 32) {  // the keys before and after the vectors
    const int64_t head = vectors_begin - begin;
    const int64_t at = thread < head ? begin + thread : vectors_end + thread - head;
    const bool is_hit = at < end && order.RankOfRaw(keys[at]) <= threshold;
    PutHits<Bits>(is_hit ? 1 : 0, at, SinkOf(pass, segment, begin));
  }
}

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(kSelectThreads, SelectionTuning::kBlocks)
    SegmentSelectKernel(const KeyOrder<Bits, kFloat> order, const SegmentFirst pass) {
  constexpr int kPer = KeyVector<Bits>::kPer;
  constexpr int kTile = TileKeys<Bits>();
  __shared__ bool is_last;
  __shared__ NotedHits<> noted;
  const auto* const keys = static_cast<const Bits*>(pass.keys);
  const int thread = static_cast<int>(threadIdx.x);
  volatile uint32_t* const failed = &pass.state->failed;
  const uint32_t units = pass.state->units;
  for (uint32_t i = blockIdx.x; i < units; i += gridDim.x) {
    const SegmentUnit unit = pass.units[i];
    const NotingSink<SegmentSink> sink{SinkOf(pass, unit.segment, unit.segment_begin), noted};
    sink.Begin();
    if (__syncthreads_or(*failed != 0)) break;  // also waits until the hits of the unit before are put
    const auto threshold = static_cast<Bits>(unit.threshold);
    bool has_room = true;
    int64_t tile = unit.at;
    for (; has_room && tile + kTile <= unit.end; tile += kTile) {
      has_room = SelectTile<true>(order, keys, threshold, tile + thread * kPer, unit.end, sink);
    }
    if (has_room && tile < unit.end) {
      has_room = SelectTile<false>(order, keys, threshold, tile + thread * kPer, unit.end, sink);
    }
    if (!has_room) *failed = 1;
    sink.End();
  }
  __syncthreads();
  if (thread == 0) is_last = IsLastBlock(&pass.state->blocks_done);
  __syncthreads();
  if (!is_last) return;
  bool fails = *failed != 0;
  for (int64_t segment = thread; segment < pass.segment_count; segment += kSelectThreads) {
    if (pass.offsets[segment + 1] - pass.offsets[segment] <= Tuning::kCapacity) continue;
    const int64_t selected = *static_cast<volatile uint32_t*>(pass.selected + segment);
    fails |= selected < pass.limit || selected > Tuning::kCapacity;
  }
  fails = __syncthreads_or(fails);
  if (thread != 0) return;
  *failed = fails ? 1 : 0;
  pass.state->valid_results = fails ? 0 : pass.places[pass.segment_count];
  pass.letter->selected = fails ? 0 : 1;
  SendLetter(pass.letter);
}

template <SmallForm kForm>
constexpr int SortBytes() {
  return Tuning::kCapacity * SmallElement<kForm>::kBytes;
}
static_assert(SortBytes<SmallForm::kRankIndex64>() <= 99 * 1024, "what any GPU gives to a block that asks for it");

template <SmallForm kForm>
__global__ void __launch_bounds__(kSortThreads)
    SegmentSortKernel(const AnyKeyOrder any_order, const SegmentFirst pass) {
  using Element = SmallElement<kForm, /*kInOrder=*/false>;
  extern __shared__ uint4 dynamic_shared[];
  if (pass.state->failed != 0) return;
  auto* const tile_keys = reinterpret_cast<typename Element::Key*>(dynamic_shared);
  const TileView<Element> tile{tile_keys, reinterpret_cast<uint32_t*>(tile_keys + Tuning::kCapacity)};
  const int64_t segment = blockIdx.x;
  const int64_t begin = pass.offsets[segment], length = pass.offsets[segment + 1] - begin;
  const bool is_selected = length > Tuning::kCapacity;
  const uint32_t* const candidates = pass.candidates + segment * Tuning::kCapacity;
  const int count = is_selected ? static_cast<int>(pass.selected[segment]) : static_cast<int>(length);
  const int results = static_cast<int>(min(pass.limit, length));
  const int64_t place = pass.places[segment];
  any_order.template With<Element::kLeastBytes, Element::kMostBytes>([&](const auto& order) {
    using Bits = typename KeyOrderTraits<std::decay_t<decltype(order)>>::Bits;
    const auto* const keys = static_cast<const Bits*>(pass.keys) + begin;
    Element items[kSortItems];
#pragma unroll
    for (int k = 0; k < kSortItems; ++k) {
      const int i = WarpFirst<kSortItems>() + k * 32;
      items[k] = Element::Last();
      if (i >= count) continue;
      const uint32_t index = is_selected ? candidates[i] : static_cast<uint32_t>(i);
      items[k] = Element::Make(order.RankOfRaw(keys[index]), index);
    }
    SortTile(tile, count, items);
#pragma unroll
    for (int k = 0; k < kSortItems; ++k) {
      const int i = WarpFirst<kSortItems>() + k * 32;
      if (i >= results) break;
      const uint32_t index = items[k].Index();
      if (pass.keys_out != nullptr) static_cast<Bits*>(pass.keys_out)[place + i] = keys[index];
      if (pass.indices != nullptr) pass.indices[place + i] = static_cast<uint32_t>(begin + index);
    }
  });
}

template <SmallForm kForm>
cudaError_t LaunchSort(const SortArgs& args, const SegmentFirst& pass, cudaStream_t stream) {
  constexpr int kBytes = SortBytes<kForm>();
  const auto kernel = SegmentSortKernel<kForm>;
  CORANK_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<static_cast<unsigned>(args.segment_count), kSortThreads, kBytes, stream>>>(
      AnyKeyOrder(args.key_type, args.order), pass);
  return cudaGetLastError();
}

cudaError_t LaunchSelection(const SortArgs& args, const SegmentFirst& pass, cudaStream_t stream) {
  return WithKeyOrder(args.key_type, args.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    if constexpr (sizeof(Bits) == 1) {
      return cudaErrorInvalidValue;  // SelectsInSegments is false
    } else {
      SegmentSampleKernel<<<static_cast<unsigned>(args.segment_count + 1), kThresholdThreads, 0, stream>>>(order, pass);
      CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
      constexpr int64_t kBlocks = SelectionTuning::kBlocks * kTunedMultiprocessors;
      const auto blocks = static_cast<unsigned>(std::min(CeilDiv(args.count, TileKeys<Bits>()), kBlocks));
      SegmentSelectKernel<<<blocks, kSelectThreads, 0, stream>>>(order, pass);
      return cudaGetLastError();
    }
  });
}

}  // namespace

cudaError_t WriteFirstOfSegments(const SortArgs& args, int64_t* d_results, StatisticsLetter* h_letter,
                                 Workspace& workspace, cudaStream_t stream, bool* found) {
  const int key_bytes = KeyBytes(args.key_type);
  const int64_t segments = args.segment_count, results = args.ResultCount();
  const int64_t unit_bytes =
      int64_t{Tuning::kUnitTiles} * kSelectThreads * SelectionTuning::kVectors * SelectionTuning::kVectorBytes;
  SegmentFirst pass{};
  pass.keys = args.keys_in;
  pass.offsets = args.segment_offsets;
  pass.segment_count = segments;
  pass.limit = args.limit;
  // The state and the numbers begin at 0.
  const int64_t zero_bytes = sizeof(SegmentState) + segments * int64_t{sizeof(uint32_t)};
  auto* const d_zeros = workspace.Carve<char>(zero_bytes);
  pass.state = reinterpret_cast<SegmentState*>(d_zeros);
  pass.selected = reinterpret_cast<uint32_t*>(d_zeros + sizeof(SegmentState));
  pass.candidates = workspace.Carve<uint32_t>(segments * Tuning::kCapacity);
  pass.places = workspace.Carve<int64_t>(segments + 1);
  pass.units = workspace.Carve<SegmentUnit>(args.count * key_bytes / unit_bytes + segments);
  auto* const d_index_scratch =
      workspace.Carve<uint32_t>(args.value_bytes > 0 && args.indices_out == nullptr ? results : 0);
  pass.keys_out = args.keys_out;
  pass.indices = args.indices_out != nullptr ? static_cast<uint32_t*>(args.indices_out) : d_index_scratch;
  pass.results = d_results;
  pass.letter = h_letter;
  if (workspace.IsSizing()) return cudaSuccess;

  h_letter->arrived = 0;
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_zeros, 0, static_cast<size_t>(zero_bytes), stream));
  CORANK_RETURN_IF_CUDA_ERROR(LaunchSelection(args, pass, stream));
  CORANK_RETURN_IF_CUDA_ERROR(key_bytes == 8 ? LaunchSort<SmallForm::kRankIndex64>(args, pass, stream)
                                             : LaunchSort<SmallForm::kRankIndex32>(args, pass, stream));
  if (args.value_bytes > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(GatherRows(args.values_in, args.value_bytes, pass.indices, sizeof(uint32_t),
                                           args.values_out, results, stream, &pass.state->valid_results));
  }
  CORANK_RETURN_IF_CUDA_ERROR(WaitForLetter(h_letter, stream));
  *found = h_letter->selected != 0;
  return cudaSuccess;
}

}  // namespace corank::cuda
