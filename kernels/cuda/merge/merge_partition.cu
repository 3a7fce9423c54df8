// The co-ranks of all sections of a group of merges.
//
// Algorithm: one co-rank search in global memory for each section, by several lanes that probe different places at a
//            time. Neighbouring splits are compared; if they do not ascend, which proves that an input is unsorted, the
//            pair is marked as broken.
// Work: O(sections * log(count)).
// Memory: scattered reads only.
// Workspace: 8 bytes for each section, 4 bytes for each pair (from the caller).
// Source: C. Siebert, J. L. Träff, "Perfectly load-balanced, optimal, stable, parallel merge", 2013; S. Odeh et al.,
//         "Merge Path", 2012.
#include "kernels/cuda/merge/merge_device.cuh"

namespace corank::cuda {
namespace {

struct Tuning {
  static constexpr int kLanes = 4;  // search one split, each with its own probe: fewer rounds, more traffic
  static constexpr int kThreads = 128;
  static constexpr int kSplits = kThreads / kLanes;
  static constexpr int kSections = kSplits - 1;  // repeats the search for the previous block's last section
};

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(Tuning::kThreads)
    PartitionKernel(const __grid_constant__ MergeGroup group, KeyOrder<Bits, kFloat> order, int64_t section_size,
                    MergeSplits splits) {
  __shared__ int64_t s_splits[Tuning::kSplits];
  const int place = static_cast<int>(threadIdx.x) / Tuning::kLanes;
  const int64_t section = int64_t{blockIdx.x} * Tuning::kSections + place - 1;
  const bool active = section >= 0 && section < group.sections;
  const int number = active ? FindPair(group, section) : 0;
  const MergePair& pair = group.pairs[number];
  const int64_t diagonal = (section - pair.first_section) * section_size;
  int64_t split = 0;
  if (active) {
    const Bits* const a = static_cast<const Bits*>(pair.a_keys);
    const Bits* const b = static_cast<const Bits*>(pair.b_keys);
    split = CoRankByLanes<Tuning::kLanes>(max(int64_t{0}, diagonal - pair.b_count), min(diagonal, pair.a_count),
                                          [&](int64_t i) { return order.Before(b[diagonal - 1 - i], a[i]); });
  }
  s_splits[place] = split;
  __syncthreads();
  if (!active || place == 0 || threadIdx.x % Tuning::kLanes != 0) return;

  splits.d_splits[section] = split;
  const auto ascends = [](int64_t from, int64_t to, int64_t outputs) { return to >= from && to - from <= outputs; };
  const int64_t left = pair.count() - diagonal;
  bool broken = false;
  if (diagonal > 0) broken = !ascends(s_splits[place - 1], split, section_size);
  if (left <= section_size) broken = broken || !ascends(split, pair.a_count, left);
  if (broken) {
    splits.d_broken[number] = 1;  // all writers write the same value
    *splits.d_any_broken = 1;
  }
}

}  // namespace

cudaError_t PartitionMerge(const MergeGroup& group, const MergeKind& kind, int64_t section_size,
                           const MergeSplits& splits, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(group.sections, Tuning::kSections));
  return WithKeyOrder(kind.key_type, kind.order, [&](auto order) {
    PartitionKernel<<<blocks, Tuning::kThreads, 0, stream>>>(group, order, section_size, splits);
    return cudaGetLastError();
  });
}

}  // namespace corank::cuda
