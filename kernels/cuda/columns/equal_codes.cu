// Orders rows with equal codes.
//
// Algorithm: a scan over the sorted codes numbers the rows that share their code with a neighbour, and finds the start
//            of their run of equal codes. These m rows become items (run, next 8 bytes of the stream, row) in that
//            order. One cooperative kernel sorts the items: tiles in shared memory, then merge-path passes with a grid
//            barrier between them. It then puts the rows back into the places of the items. The device derives the
//            number of passes from m, so that neither launches nor waits of the host depend on the data.
// Work: O(n), and O(m log m) comparisons. A comparison reads rows only if run and next 8 bytes are equal and the key
//       continues after them.
// Memory: one read of the codes, one write and one read of the scan. All m items move once for the tiles. In each pass,
//         items that are not in place move twice: at most the run of equal codes across the middle of each pair.
// Workspace: for 4-byte row numbers 8 (scan) + 32 (items, twice) + 4 (places) bytes for each row; for 8-byte ones 16 +
//            48 + 8.
// Stability: items are made in the order of d_rows; tiles are sorted stably, and merges take the earlier run first.
// Source: Odeh, Green et al., "Merge Path", 2012.
#include <cooperative_groups.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "kernels/common/merge_path.h"
#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/columns/equal_codes.h"
#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiprocessor.h"
#include "kernels/cuda/sort/run_pairs.h"

namespace corank::cuda {
namespace {

using Tuning = ColumnTuning;

/// The values that the scan accumulates over positions.
template <typename Index>
struct Tied {
  Index rows;       // rows with a neighbour of equal code
  Index run_start;  // the last position whose code differs from the previous one
};

struct AddTied {
  template <typename Index>
  __host__ __device__ Tied<Index> operator()(const Tied<Index>& x, const Tied<Index>& y) const {
    return {static_cast<Index>(x.rows + y.rows), Max(x.run_start, y.run_start)};
  }
};

template <typename Index>
struct TiedAt {
  const uint64_t* codes;
  const RowCode* code_of_rows;
  int64_t stream_bytes;
  int64_t count;
  __host__ __device__ Tied<Index> operator()(int64_t i) const {
    const uint64_t code = codes[i];
    const bool starts = i == 0 || codes[i - 1] != code;
    const bool ends = i == count - 1 || codes[i + 1] != code;
    const bool tied = !(starts && ends) && code_of_rows->next_byte() < stream_bytes;
    return {static_cast<Index>(tied), starts ? static_cast<Index>(i) : Index{0}};
  }
};

template <typename Index>
struct alignas(sizeof(Index) == 4 ? 16 : 8) TieItem {
  uint64_t word;
  Index run;
  Index row;
};

/// The order of items. Compares rows if the stream continues after the items' words.
template <typename Index>
struct TieOrder {
  const RowOrder& order;
  int64_t equal_bytes;  // streams of items with equal run and word are equal up to here
  bool compares_rows;

  __device__ __forceinline__ bool operator()(const TieItem<Index>& x, const TieItem<Index>& y) const {
    if (x.run != y.run) return x.run < y.run;
    if (x.word != y.word) return x.word < y.word;
    if (!compares_rows || (order.ends_in_strings() && order.TailDecides(x.word))) return false;
    return RowBefore(static_cast<int64_t>(x.row), static_cast<int64_t>(y.row));
  }
  // Not inlined: long, rarely taken, and called from many places.
  __device__ __noinline__ bool RowBefore(int64_t x, int64_t y) const { return order.Compare(x, y, equal_bytes) < 0; }
};

template <typename Index>
struct TieArrays {
  const Tied<Index>* tied;  // the result of the scan, one for each position
  Index* places;            // places of the items: positions in rows
  TieItem<Index>* items;
  TieItem<Index>* other_items;
  int64_t* splits;  // one for each border of tiles
  Index* rows;
};

template <typename Index>
__global__ void __launch_bounds__(Tuning::kThreads)
    MakeItemsKernel(const __grid_constant__ RowOrder order, const RowCode* d_code, int64_t count,
                    TieArrays<Index> arrays) {
  if (arrays.tied[count - 1].rows == 0) return;
  const int64_t next = d_code->next_byte();
  for (int64_t i = int64_t{blockIdx.x} * Tuning::kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * Tuning::kThreads) {
    const Tied<Index> tied = arrays.tied[i];
    if (tied.rows == (i == 0 ? 0 : arrays.tied[i - 1].rows)) continue;
    const Index row = arrays.rows[i];
    arrays.places[tied.rows - 1] = static_cast<Index>(i);
    const uint64_t word = order.ends_in_strings() ? order.Tail(static_cast<int64_t>(row), next)
                                                  : order.Word(static_cast<int64_t>(row), next);
    arrays.items[tied.rows - 1] = {word, tied.run_start, row};
  }
}

/// Merges outputs first to first + kTieItems - 1 of a pair of runs in shared memory into registers.
template <typename Index>
__device__ __forceinline__ void MergeTies(const TieItem<Index>* items, int a, int a_count, int b, int b_count,
                                          int first, const TieOrder<Index>& before,
                                          TieItem<Index> (&merged)[Tuning::kTieItems]) {
  first = min(first, a_count + b_count);
  const int a_end = a + a_count, b_end = b + b_count;
  a += CoRank<int>(first, items + a, a_count, items + b, b_count, before);
  b += first - (a + a_count - a_end);
  // The two next items stay in registers, so that each item is read once.
  TieItem<Index> a_item{}, b_item{};
  if (a < a_end) a_item = items[a];
  if (b < b_end) b_item = items[b];
#pragma unroll
  for (int i = 0; i < Tuning::kTieItems; ++i) {
    const bool takes_a = a < a_end && (b >= b_end || !before(b_item, a_item));
    merged[i] = takes_a ? a_item : b_item;
    if (takes_a) {
      if (++a < a_end) a_item = items[a];
    } else {
      if (++b < b_end) b_item = items[b];
    }
  }
}

/// Stores the outputs `first`, first + 1, ... of a thread, out of `count`.
template <typename Index>
__device__ __forceinline__ void StoreTies(const TieItem<Index> (&merged)[Tuning::kTieItems], int first, int count,
                                          TieItem<Index>* out) {
#pragma unroll
  for (int i = 0; i < Tuning::kTieItems; ++i) {
    if (first + i < count) out[first + i] = merged[i];
  }
}

/// Sorts `count` items, at most a tile. All threads of the block call it, between barriers.
template <typename Index>
__device__ void SortTile(TieItem<Index>* items, int count, const TieOrder<Index>& before) {
  const int first = static_cast<int>(threadIdx.x) * Tuning::kTieItems;
  const int end = min(first + Tuning::kTieItems, count);
  for (int i = first + 1; i < end; ++i) {
    const TieItem<Index> item = items[i];
    int to = i;
    for (; to > first && before(item, items[to - 1]); --to) items[to] = items[to - 1];
    items[to] = item;
  }
  for (int width = Tuning::kTieItems; width < count; width *= 2) {
    __syncthreads();
    TieItem<Index> merged[Tuning::kTieItems];
    if (first < count) {
      const RunPair pair = PairAt(first, width, count);
      const int start = static_cast<int>(pair.start), middle = static_cast<int>(pair.middle);
      MergeTies(items, start, middle - start, middle, static_cast<int>(pair.end) - middle, first - start, before,
                merged);
    }
    __syncthreads();
    StoreTies(merged, first, count, items);
  }
  __syncthreads();
}

/// The inputs of one tile of a pass: `a_count` items from a_begin on, the rest from b_begin on.
struct TieTile {
  int64_t begin, a_begin, b_begin;
  int a_count, total;

  /// Whether all items are in place already. Most are, once runs are longer than runs of equal codes.
  __device__ __forceinline__ bool IsInPlace() const {
    return (a_count == total && a_begin == begin) || (a_count == 0 && b_begin == begin);
  }
};

/// `splits` are positions in the first run of a pair, where the outputs after the tile's border begin.
__device__ __forceinline__ TieTile TieTileAt(int64_t tile, int64_t width, int64_t count, const int64_t* splits) {
  const int64_t begin = tile * Tuning::kTieTile, end = min(begin + Tuning::kTieTile, count);
  const RunPair pair = PairAt(begin, width, count);
  const int64_t a_begin = splits[tile], a_end = end == pair.end ? pair.middle : splits[tile + 1];
  return {begin, a_begin, pair.middle + begin - a_begin, static_cast<int>(a_end - a_begin),
          static_cast<int>(end - begin)};
}

/// Merges one tile from `in` to `out`.
template <typename Index>
__device__ void MergeTile(const TieItem<Index>* in, TieItem<Index>* out, const TieTile& tile, TieItem<Index>* shared,
                          const TieOrder<Index>& before) {
  for (int i = static_cast<int>(threadIdx.x); i < tile.total; i += Tuning::kTieThreads) {
    shared[i] = in[i < tile.a_count ? tile.a_begin + i : tile.b_begin + i - tile.a_count];
  }
  __syncthreads();
  const int first = static_cast<int>(threadIdx.x) * Tuning::kTieItems;
  TieItem<Index> merged[Tuning::kTieItems];
  MergeTies(shared, 0, tile.a_count, tile.a_count, tile.total - tile.a_count, first, before, merged);
  __syncthreads();
  StoreTies(merged, first, tile.total, shared);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < tile.total; i += Tuning::kTieThreads) {
    out[tile.begin + i] = shared[i];
  }
  __syncthreads();
}

template <typename Index>
__global__ void __launch_bounds__(Tuning::kTieThreads, Tuning::kTieBlocks)
    SortTiesKernel(const __grid_constant__ RowOrder order, const RowCode* d_code, int64_t count,
                   TieArrays<Index> arrays) {
  __shared__ TieItem<Index> shared[Tuning::kTieTile];
  const auto total = static_cast<int64_t>(arrays.tied[count - 1].rows);
  const int64_t equal_bytes = d_code->next_byte() + (order.ends_in_strings() ? 7 : 8);
  const TieOrder<Index> before{order, equal_bytes, order.stream_bytes() > equal_bytes};
  const int64_t tiles = CeilDiv(total, Tuning::kTieTile);
  const auto grid = cooperative_groups::this_grid();

  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    TieItem<Index>* items = arrays.items + tile * Tuning::kTieTile;
    const int tile_count = static_cast<int>(min(int64_t{Tuning::kTieTile}, total - tile * Tuning::kTieTile));
    for (int i = static_cast<int>(threadIdx.x); i < tile_count; i += Tuning::kTieThreads) shared[i] = items[i];
    __syncthreads();
    SortTile(shared, tile_count, before);
    for (int i = static_cast<int>(threadIdx.x); i < tile_count; i += Tuning::kTieThreads) items[i] = shared[i];
    __syncthreads();
  }
  const int64_t thread = int64_t{blockIdx.x} * Tuning::kTieThreads + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * Tuning::kTieThreads;
  for (int64_t width = Tuning::kTieTile; width < total; width *= 2) {
    grid.sync();
    for (int64_t tile = thread; tile < tiles; tile += threads) {
      const int64_t border = tile * Tuning::kTieTile;
      const RunPair pair = PairAt(border, width, total);
      const TieItem<Index>* items = arrays.items;
      arrays.splits[tile] =
          pair.start + CoRank<int64_t>(border - pair.start, items + pair.start, pair.middle - pair.start,
                                       items + pair.middle, pair.end - pair.middle, before);
    }
    grid.sync();
    // Merge aside, and copy back, only what moves. Rows stay within their run of equal codes, so that is mostly little.
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      const TieTile tile = TieTileAt(t, width, total, arrays.splits);
      if (!tile.IsInPlace()) MergeTile(arrays.items, arrays.other_items, tile, shared, before);
    }
    grid.sync();
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      const TieTile tile = TieTileAt(t, width, total, arrays.splits);
      if (tile.IsInPlace()) continue;
      for (int i = static_cast<int>(threadIdx.x); i < tile.total; i += Tuning::kTieThreads) {
        arrays.items[tile.begin + i] = arrays.other_items[tile.begin + i];
      }
    }
  }
  if (total > 0) grid.sync();
  for (int64_t i = thread; i < total; i += threads) arrays.rows[arrays.places[i]] = arrays.items[i].row;
}

template <typename Index>
cudaError_t Run(const RowOrder& order, const uint64_t* d_codes, const RowCode* d_code, Index* d_rows, int64_t count,
                Workspace& workspace, cudaStream_t stream) {
  auto* const tied = workspace.Carve<Tied<Index>>(count);
  TieArrays<Index> arrays{};
  arrays.tied = tied;
  arrays.places = workspace.Carve<Index>(count);
  arrays.items = workspace.Carve<TieItem<Index>>(count);
  arrays.other_items = workspace.Carve<TieItem<Index>>(count);
  arrays.splits = workspace.Carve<int64_t>(CeilDiv(count, Tuning::kTieTile));
  arrays.rows = d_rows;
  const auto in = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                                  TiedAt<Index>{d_codes, d_code, order.stream_bytes(), count});
  size_t temporary_bytes = 0;
  CORANK_RETURN_IF_CUDA_ERROR(
      cub::DeviceScan::InclusiveScan(nullptr, temporary_bytes, in, tied, AddTied(), count, stream));
  void* const d_temporary = workspace.CarveBytes(static_cast<int64_t>(temporary_bytes));
  if (workspace.IsSizing()) return cudaSuccess;

  CORANK_RETURN_IF_CUDA_ERROR(
      cub::DeviceScan::InclusiveScan(d_temporary, temporary_bytes, in, tied, AddTied(), count, stream));
  const unsigned blocks = LoopingGrid(count, Tuning::kThreads);
  MakeItemsKernel<Index><<<blocks, Tuning::kThreads, 0, stream>>>(order, d_code, count, arrays);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());

  DeviceTraits device;
  int resident = 0;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&device));
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, SortTiesKernel<Index>, Tuning::kTieThreads, 0));
  const auto grid =
      static_cast<unsigned>(std::min(CeilDiv(count, Tuning::kTieTile), int64_t{device.multiprocessors} * resident));
  RowOrder rows = order;
  void* parameters[] = {&rows, &d_code, &count, &arrays};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(SortTiesKernel<Index>), grid, Tuning::kTieThreads,
                                     parameters, 0, stream);
}

}  // namespace

cudaError_t SortEqualCodes(const RowOrder& order, const uint64_t* d_codes, const RowCode* d_code, void* d_rows,
                           int index_bytes, int64_t count, Workspace& workspace, cudaStream_t stream) {
  return index_bytes == 4 ? Run(order, d_codes, d_code, static_cast<uint32_t*>(d_rows), count, workspace, stream)
                          : Run(order, d_codes, d_code, static_cast<uint64_t*>(d_rows), count, workspace, stream);
}

}  // namespace corank::cuda
