// One sort, by AUTO and by MERGESORT, beside CUB's radix sort and merge sort.
#ifndef CORANK_BENCH_KERNELS_SORT_CONTEST_H_
#define CORANK_BENCH_KERNELS_SORT_CONTEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/harness/contest.h"
#include "bench/harness/inputs.h"
#include "bench/kernels/gpu.h"

namespace corank::bench {

struct SortWork {
  InputSpec input;
  bool pairs = false;     // distinct values beside the keys, which also show stability
  bool is_float = false;  // our sort takes the keys as floats (InputSpec::shift is 2), CUB as unsigned integers

  std::string TypeName(int key_bytes, int value_bytes = 4) const;
};

/// The two rows: "sort AUTO" against the faster of CUB's sorts, "sort MERGESORT" against cub::DeviceMergeSort. All
/// answers are compared bit for bit. Key, Value: uint32_t or uint64_t and uint32_t, or uint64_t both, always pairs.
template <typename Key, typename Value = uint32_t>
absl::StatusOr<Contest> PrepareSort(const SortWork& work, Gpu* gpu);

/// The cost of AUTO's look at the data: AUTO on keys without structure beside RADIX, which it then takes. One row,
/// `identity` with figures. Key: uint32_t, uint64_t.
template <typename Key>
absl::StatusOr<Contest> PrepareLook(const SortWork& work, const Row& identity, Gpu* gpu);

/// Batcher's network, beside MERGESORT, AUTO and cub::DeviceRadixSort: three rows of int32_t, the first of them of
/// uint32_t.
template <typename Key>
absl::StatusOr<Contest> PrepareOddEvenSort(const InputSpec& input, Gpu* gpu);

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_SORT_CONTEST_H_
