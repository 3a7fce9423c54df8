// Converts keys to ranks, and ranks to integer keys.
//
// Algorithm: element by element. The tile of a block moves through shared memory as 16-byte vectors, at any alignment.
// Memory: one read, one write.
// Workspace: none.
#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/tile_elements.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/sort/key_codes.h"
#include "kernels/cuda/sort/run_pairs.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTileBytes = 8192;

/// out[i] = map(in[i]); in and out may be the same array.
template <typename Bits, typename Map>
__global__ void __launch_bounds__(kThreads) MapKernel(const Bits* in, Bits* out, int64_t count, Map map) {
  constexpr int kTile = kTileBytes / static_cast<int>(sizeof(Bits));
  __shared__ alignas(16) Bits tile[2 * kTile + 2 * kPerVector<Bits>];
  const int64_t start = int64_t{blockIdx.x} * kTile;
  const int tile_count = static_cast<int>(Min<int64_t>(kTile, count - start));
  Bits* const loaded = tile + PhaseOf(in + start);
  Bits* const mapped = tile + kTile + kPerVector<Bits> + PhaseOf(out + start);
  StartLoad<kThreads>(in + start, loaded, tile_count);
  FinishLoads();
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < tile_count; i += kThreads) mapped[i] = map(loaded[i]);
  __syncthreads();
  StoreTile<kThreads>(mapped, out + start, tile_count);
}

template <typename Bits, typename Map>
cudaError_t LaunchMap(const void* d_in, void* d_out, int64_t count, Map map, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(count * static_cast<int64_t>(sizeof(Bits)), kTileBytes));
  MapKernel<<<blocks, kThreads, 0, stream>>>(static_cast<const Bits*>(d_in), static_cast<Bits*>(d_out), count, map);
  return cudaGetLastError();
}

template <typename KeyOrderType>
struct RankOfRaw {
  KeyOrderType order;
  template <typename Bits>
  __device__ Bits operator()(Bits raw) const {
    return order.RankOfRaw(raw);
  }
};

template <typename KeyOrderType>
struct Decode {
  KeyOrderType order;
  template <typename Bits>
  __device__ Bits operator()(Bits code) const {
    return order.Decode(code);
  }
};

}  // namespace

cudaError_t KeysToRanks(KeyType type, Order order, const void* d_keys, void* d_ranks, int64_t count,
                        cudaStream_t stream) {
  return WithKeyOrder(type, order, [&](const auto& key_order) {
    using KeyOrderType = std::decay_t<decltype(key_order)>;
    using Bits = typename KeyOrderTraits<KeyOrderType>::Bits;
    return LaunchMap<Bits>(d_keys, d_ranks, count, RankOfRaw<KeyOrderType>{key_order}, stream);
  });
}

cudaError_t RanksToIntegerKeys(KeyType type, Order order, void* d_ranks, int64_t count, cudaStream_t stream) {
  return WithKeyOrder(type, order, [&](const auto& key_order) {
    using KeyOrderType = std::decay_t<decltype(key_order)>;
    using Bits = typename KeyOrderTraits<KeyOrderType>::Bits;
    if constexpr (KeyOrderTraits<KeyOrderType>::kFloat) {
      return cudaErrorInvalidValue;
    } else {
      return LaunchMap<Bits>(d_ranks, d_ranks, count, Decode<KeyOrderType>{key_order}, stream);
    }
  });
}

}  // namespace corank::cuda
