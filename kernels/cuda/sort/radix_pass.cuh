// One pass of the radix sort: keys and payload move to their place by one digit and keep their order.
#ifndef CORANK_KERNELS_CUDA_SORT_RADIX_PASS_CUH_
#define CORANK_KERNELS_CUDA_SORT_RADIX_PASS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/radix_look_back.cuh"
#include "kernels/cuda/sort/radix_match.cuh"
#include "kernels/cuda/sort/radix_pairs.h"
#include "kernels/cuda/sort/radix_state.h"
#include "kernels/cuda/sort/radix_tuning.h"

namespace corank::cuda {

struct NoPayload {};

/// The arrays of all passes. The first one reads `in`. Pass p of P writes `last` if P - 1 - p is even, otherwise
/// `near`.
template <typename T>
struct RadixArrays {
  const T* in = nullptr;
  T* near = nullptr;
  T* last = nullptr;
  bool wanted = true;  // whether the last pass writes anything

  __device__ __forceinline__ const T* Input(bool is_first, int pass, int passes) const {
    return is_first ? in : (passes - 1 - pass) % 2 == 0 ? near : last;
  }
  __device__ __forceinline__ T* Output(int pass, int passes) const {
    return (passes - 1 - pass) % 2 == 0 ? last : near;
  }
};

template <typename Bits, typename Payload>
struct RadixPassArgs {
  RadixArrays<Bits> keys;
  RadixArrays<Payload> payload;  // `in` null: the index of the key
  RadixPairArrays pairs;         // between passes, if the tile is packed
  RadixState* state;
  RadixDigits digits;
  RadixStatuses statuses;
  int64_t count;
  int pass;
  int portion;            // part of the pass; each is one launch
  int launch;             // number among all passes and portions
  int tiles;              // of a launch
  int64_t prefetch_keys;  // PrefetchTiles
  bool prefetches_payload = true;
};

template <typename Bits, typename PayloadType, bool kMayPack = true>
struct RadixTile {
  using Payload = PayloadType;
  static constexpr bool kPayload = !std::is_same_v<Payload, NoPayload>;
  /// Whether a key and its payload travel as one word of 8 bytes. Runs of equal digits then have twice as many bytes,
  /// and a tile goes through shared memory once.
  static constexpr bool kPacked = kMayPack && kPayload && sizeof(Bits) == 4 && sizeof(Payload) == 4;
  static constexpr bool kApart = kPayload && !kPacked;
  using Held = std::conditional_t<kPacked, uint64_t, Bits>;
  static constexpr RadixTuning kTuning = RadixTuningFor(sizeof(Bits), kPayload ? sizeof(Payload) : 0);
  static constexpr int kThreads = kTuning.threads;
  static constexpr int kItems = kTuning.items;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kKeys = kTuning.Tile();
  static_assert(kThreads >= kDigitBins, "a thread has a digit");

  /// A run of equal digits that continues in another part of a PairArray, from the tile's position `at` on.
  struct Crossing {
    int bin;
    int at;
    int64_t distance;
  };

  struct Shared {
    union {  // minus the tile's position of the first key with the digit
      Bits* key_places[kDigitBins];
      uint64_t* pair_places[kDigitBins];
    };
    Payload* payload_places[kPayload ? kDigitBins : 1];
    uint32_t warp_bins[kWarps][kDigitBins];  // counts, then the position in the tile of the next key
    union {
      Held keys[kKeys];
      Payload payload[kApart ? kKeys : 1];  // after the keys are stored
    };
    uint32_t warp_sums[kDigitBins / 32];
    int tile;
    bool crosses;  // whether there are crossings; unused ones have bin -1
    Crossing crossings[PairArray::kParts - 1];
  };
  static_assert(sizeof(Shared) <= 99 * 1024, "of a block on every architecture");
};

/// Gets the digit of a key that a thread holds. Integers are held unchanged: their codes differ by an exclusive or.
/// Floats are held, and lie between passes, as codes.
template <typename Bits, bool kFloat, bool kByRank>
struct DigitReader {
  KeyOrder<Bits, kFloat> order;
  int shift;
  uint32_t flip;

  template <typename Held>
  __device__ __forceinline__ uint32_t operator()(Held held) const {
    Bits key = static_cast<Bits>(held);
    if constexpr (kByRank) key = order.Rank(key);
    return (static_cast<uint32_t>(key >> shift) % kDigitBins) ^ flip;
  }
};

/// Prefetches array[start, start + length), within the array of `count` elements, into the L2 cache.
template <int kThreads, typename T>
__device__ __forceinline__ void Prefetch(const T* array, int64_t start, int length, int64_t count) {
  constexpr int kLine = 128 / static_cast<int>(sizeof(T));
  for (int i = static_cast<int>(threadIdx.x) * kLine; i < length; i += kThreads * kLine) {
    if (start + i < count) asm volatile("prefetch.global.L2 [%0];" ::"l"(array + start + i));
  }
}

/// Loads a thread's part of a packed tile: every 32nd pair from `first` on, with `pad` for keys past the end.
template <typename Bits, bool kFloat, typename Tile>
__device__ __forceinline__ void LoadPairs(const RadixPassArgs<Bits, typename Tile::Payload>& args, int pass,
                                          const KeyOrder<Bits, kFloat>& order, int passes, int64_t start, int first,
                                          int tile_count, uint64_t (&pairs)[Tile::kItems]) {
  constexpr int kItems = Tile::kItems;
  constexpr Bits kLastCode = static_cast<Bits>(~Bits{0});
  const bool is_full = tile_count == Tile::kKeys;
  if (pass == 0) {
    const Bits pad = order.Decode(kLastCode);
    const Bits* const keys_in = args.keys.in + start + first;
    Bits keys[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      keys[i] = is_full || first + 32 * i < tile_count ? __ldcs(keys_in + 32 * i) : pad;
    }
    uint32_t payload[kItems];
    const auto* const payload_in = args.payload.in + start + first;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (args.payload.in == nullptr) {
        payload[i] = static_cast<uint32_t>(start + first + 32 * i);
      } else {
        payload[i] = is_full || first + 32 * i < tile_count ? __ldcs(payload_in + 32 * i) : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      pairs[i] = uint64_t{payload[i]} << 32 | (kFloat ? order.Encode(keys[i]) : keys[i]);
    }
    return;
  }
  const PairArray& in = args.pairs.Input(pass, passes);
  const uint64_t* const tile_in = in.Place(start);
  if (is_full && in.IsWhole(start, Tile::kKeys)) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) pairs[i] = __ldcs(tile_in + first + 32 * i);
  } else {
    const Bits pad = kFloat ? kLastCode : order.Decode(kLastCode);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      pairs[i] = first + 32 * i < tile_count ? *in.Place(start + first + 32 * i) : pad;
    }
  }
}

/// The keys of a tile.
struct TileKeys {
  int64_t start;
  int count;
};

/// One tile of a pass, and this thread's part in it. kByRank: equal keys may have different codes, so that digits must
/// be those of ranks.
template <typename Bits, bool kFloat, bool kByRank, typename Tile>
struct RadixTilePass {
  using Payload = typename Tile::Payload;
  using Held = typename Tile::Held;
  using Shared = typename Tile::Shared;
  static constexpr int kItems = Tile::kItems;
  static constexpr int kThreads = Tile::kThreads;
  static constexpr int kWarps = Tile::kWarps;
  /// Positions in the tile, two in a register, if the payload follows the keys later.
  using Positions = uint32_t[Tile::kApart ? CeilDiv(kItems, 2) : 1];
  using HeldPayload = Payload[Tile::kApart ? kItems : 1];

  const RadixPassArgs<Bits, Payload>& args;
  const bool is_first;  // of the passes that are made
  const int pass;
  const KeyOrder<Bits, kFloat>& order;
  const int passes;
  const TileKeys& tile;
  Shared& shared;
  DigitReader<Bits, kFloat, kByRank> digit_of;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int first = warp * 32 * kItems + lane;  // of the thread's keys: every 32nd from here on
  const bool is_last_pass = pass == passes - 1;
  const bool is_full = tile.count == Tile::kKeys;
  const Payload* const payload_in = args.payload.Input(is_first, pass, passes);
  const bool has_payload_array = Tile::kApart && payload_in != nullptr;  // otherwise: the key's index

  /// The keys of a warp are adjacent. Keys past the end have the last digit and are not written.
  __device__ __forceinline__ void LoadKeys(Held (&keys)[kItems]) const {
    if constexpr (Tile::kPacked) {
      LoadPairs<Bits, kFloat, Tile>(args, pass, order, passes, tile.start, first, tile.count, keys);
    } else {
      const Bits* const keys_in = args.keys.Input(is_first, pass, passes) + tile.start + first;
      if (is_full) {
#pragma unroll
        for (int i = 0; i < kItems; ++i) keys[i] = __ldcs(keys_in + 32 * i);
      } else {
        constexpr Bits kLastCode = static_cast<Bits>(~Bits{0});
        const Bits pad = kFloat && pass > 0 ? kLastCode : order.Decode(kLastCode);
#pragma unroll
        for (int i = 0; i < kItems; ++i) keys[i] = first + 32 * i < tile.count ? keys_in[32 * i] : pad;
      }
      if (kFloat && pass == 0) {
#pragma unroll
        for (int i = 0; i < kItems; ++i) keys[i] = order.Encode(keys[i]);
      }
    }
  }

  __device__ __forceinline__ void PrefetchInputs() const {
    const int64_t ahead = tile.start + args.prefetch_keys;
    if constexpr (Tile::kApart) {  // it would evict what other tiles load: 5 % slower with keys and payload ahead
      if (has_payload_array && args.prefetches_payload) {
        Prefetch<kThreads>(payload_in, tile.start, Tile::kKeys, args.count);
      }
    } else if constexpr (Tile::kPacked) {
      if (pass == 0) {
        Prefetch<kThreads>(args.keys.in, ahead, Tile::kKeys, args.count);
        if (args.payload.in != nullptr) Prefetch<kThreads>(args.payload.in, ahead, Tile::kKeys, args.count);
      } else if (ahead + Tile::kKeys <= args.count) {
        const PairArray& in = args.pairs.Input(pass, passes);
        if (in.IsWhole(ahead, Tile::kKeys)) Prefetch<kThreads>(in.Place(ahead), 0, Tile::kKeys, Tile::kKeys);
      }
    } else {
      Prefetch<kThreads>(args.keys.Input(is_first, pass, passes), ahead, Tile::kKeys, args.count);
    }
  }

  __device__ __forceinline__ uint32_t DigitAt(const Held (&keys)[kItems], int i) const {
    // No float has a rank with the last value in every digit.
    if (kByRank && !is_full && first + 32 * i >= tile.count) return uint32_t{kDigitBins - 1};
    return digit_of(keys[i]);
  }

  /// Counts digits, and replaces the counts of each warp by positions in the tile: by digit, then warp. Threads below
  /// kDigitBins get the count and the position of their digit. Barriers precede and follow the change of the counts.
  __device__ __forceinline__ void PlaceDigits(const Held (&keys)[kItems], const LookBack& look_back,
                                              uint32_t& bin_count, uint32_t& bin_start) {
    uint32_t* const warp_bins = shared.warp_bins[warp];
#pragma unroll
    for (int i = 0; i < kItems; ++i) atomicAdd(warp_bins + DigitAt(keys, i), 1u);
    if (warp == kWarps - 1) look_back.AwaitRow();
    __syncthreads();
    asm volatile("" : "+r"(digit_of.shift));  // digits are computed again below: keeping them would spill

    if (thread < kDigitBins) {
#pragma unroll
      for (int w = 0; w < kWarps; ++w) bin_count += shared.warp_bins[w][thread];
      look_back.Publish(thread, bin_count);
      bin_start = bin_count;
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, bin_start, distance);
        if (lane >= distance) bin_start += other;
      }
      if (lane == 31) shared.warp_sums[warp] = bin_start;
      bin_start -= bin_count;
    }
    __syncthreads();
    if (thread < kDigitBins) {
#pragma unroll
      for (int w = 0; w < kDigitBins / 32; ++w) bin_start += w < warp ? shared.warp_sums[w] : 0;
      uint32_t next = bin_start;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const uint32_t warp_count = shared.warp_bins[w][thread];
        shared.warp_bins[w][thread] = next;
        next += warp_count;
      }
    }
    __syncthreads();
  }

  /// Ranks the keys, and writes them to the tile in order.
  __device__ __forceinline__ void OrderKeys(const Held (&keys)[kItems], Positions& positions) {
    uint32_t* const warp_bins = shared.warp_bins[warp];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const uint32_t value = DigitAt(keys, i);
      const uint32_t peers = MatchDigit(value);
      const uint32_t before = __popc(peers & LanesBefore());
      const uint32_t position = AddOnce(warp_bins + value, peers, before + 1) + before;
      shared.keys[position] = keys[i];
      if constexpr (Tile::kApart) positions[i / 2] = i % 2 == 0 ? position : positions[i / 2] | position << 16;
    }
  }

  __device__ __forceinline__ void LoadPayload(HeldPayload& payload) const {
    if constexpr (Tile::kApart) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int64_t from = tile.start + first + 32 * i;
        if (!has_payload_array) {
          payload[i] = static_cast<Payload>(from);
        } else if (is_full || first + 32 * i < tile.count) {
          payload[i] = __ldcs(payload_in + from);
        }
      }
    }
  }

  /// Notes where the keys of this thread's digit go: the first one to `place`.
  __device__ __forceinline__ void NotePlaces(int64_t place, uint32_t bin_count, uint32_t bin_start) {
    if (Tile::kPacked && !is_last_pass) {
      const PairArray& out = args.pairs.Output(pass, passes);
      uint64_t* const begin = out.Place(place);
      shared.pair_places[thread] = begin - bin_start;
#pragma unroll
      for (int part = 0; part < PairArray::kParts - 1; ++part) {
        const int64_t end = out.ends[part];
        if (place >= end || end >= place + bin_count) continue;
        const int64_t stays = end - place;
        shared.crossings[part] = {thread, static_cast<int>(bin_start + stays), out.parts[part + 1] - out.parts[part]};
        shared.crosses = true;
      }
    } else {
      shared.key_places[thread] = args.keys.Output(pass, passes) + (place - bin_start);
      if constexpr (Tile::kPayload) {
        shared.payload_places[thread] = args.payload.Output(pass, passes) + (place - bin_start);
      }
    }
  }

  /// Stores the pairs of a packed tile for the next pass. As in StoreKeys, neighbours with the same digit go to
  /// adjacent places.
  __device__ __forceinline__ void StorePairs() const {
    const bool crosses = shared.crosses;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int at = thread + i * kThreads;
      if (!is_full && at >= tile.count) break;
      const uint64_t pair = shared.keys[at];
      const uint32_t value = digit_of(pair);
      uint64_t* place = shared.pair_places[value] + at;
      if (crosses) {
        for (const auto& crossing : shared.crossings) {
          if (static_cast<int>(value) == crossing.bin && at >= crossing.at) place += crossing.distance;
        }
      }
      *place = pair;
    }
  }

  /// Stores keys, and the payload of a packed tile. `digits`: of the keys stored, four in a register.
  __device__ __forceinline__ void StoreKeys(uint32_t (&digits)[Tile::kApart ? CeilDiv(kItems, 4) : 1]) const {
    const bool writes_keys = !is_last_pass || args.keys.wanted;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int at = thread + i * kThreads;
      if (!is_full && at >= tile.count) break;
      const auto held = shared.keys[at];
      const Bits key = static_cast<Bits>(held);
      const uint32_t value = digit_of(held);
      if (writes_keys) shared.key_places[value][at] = kFloat && is_last_pass ? order.Decode(key) : key;
      if constexpr (Tile::kPacked) shared.payload_places[value][at] = static_cast<Payload>(held >> 32);
      if constexpr (Tile::kApart) digits[i / 4] |= value << (8 * (i % 4));
    }
  }

  /// Orders the payload in the memory of the keys, which are stored, and stores it.
  __device__ __forceinline__ void StorePayload(const HeldPayload& payload, const Positions& positions,
                                               const uint32_t (&digits)[Tile::kApart ? CeilDiv(kItems, 4) : 1]) const {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kItems; ++i) shared.payload[positions[i / 2] >> (16 * (i % 2)) & 0xFFFFu] = payload[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int at = thread + i * kThreads;
      if (!is_full && at >= tile.count) break;
      shared.payload_places[digits[i / 4] >> (8 * (i % 4)) & 0xFFu][at] = shared.payload[at];
    }
  }
};

/// place_of(bin, before, count) is the destination of the tile's first key of a bin that has `count` keys in this tile
/// and `before` in earlier ones. kByRank: see RadixTilePass. is_first: so is pass 0, and any pass of integers that do
/// not travel packed.
template <typename Bits, bool kFloat, bool kByRank, typename Tile, typename PlaceOf>
__device__ __forceinline__ void RunRadixPass(const RadixPassArgs<Bits, typename Tile::Payload>& args, bool is_first,
                                             int pass, const KeyOrder<Bits, kFloat>& order, int passes, int shift,
                                             const TileKeys& tile, const LookBack& look_back, PlaceOf place_of,
                                             typename Tile::Shared& shared) {
  using Run = RadixTilePass<Bits, kFloat, kByRank, Tile>;
  Run run{args, is_first, pass, order, passes, tile, shared, {order, shift, 0}};
  if constexpr (!kFloat) run.digit_of.flip = static_cast<uint32_t>(order.Encode(Bits{0}) >> shift) % kDigitBins;

  typename Run::Held keys[Run::kItems];
  run.LoadKeys(keys);
  run.PrefetchInputs();
  uint32_t bin_count = 0, bin_start = 0;
  run.PlaceDigits(keys, look_back, bin_count, bin_start);
  typename Run::Positions positions;
  run.OrderKeys(keys, positions);
  // In flight while the tile looks back and stores keys, if registers allow.
  constexpr bool kPayloadEarly = sizeof(typename Tile::Payload) <= 4;
  typename Run::HeldPayload payload;
  if constexpr (kPayloadEarly) run.LoadPayload(payload);
  if (run.thread < kDigitBins) {
    const uint32_t prefix = look_back.Resolve(run.thread, bin_count);
    run.NotePlaces(place_of(run.thread, prefix, bin_count), bin_count, bin_start);
  }
  __syncthreads();
  if (run.thread == 0) look_back.Finish();

  if constexpr (Tile::kPacked) {
    if (!run.is_last_pass) {
      run.StorePairs();
      return;
    }
  }
  uint32_t digits[Tile::kApart ? CeilDiv(Run::kItems, 4) : 1] = {};
  run.StoreKeys(digits);
  if constexpr (Tile::kApart) {
    if constexpr (!kPayloadEarly) run.LoadPayload(payload);
    run.StorePayload(payload, positions, digits);
  }
}

/// Called before the first barrier of a tile.
template <typename Tile>
__device__ __forceinline__ void PrepareTile(typename Tile::Shared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (Tile::kPacked) {
    if (thread == 0) shared.crosses = false;
    if (thread < PairArray::kParts - 1) shared.crossings[thread].bin = -1;
  }
#pragma unroll
  for (int i = 0; i < kDigitBins / 32; ++i) shared.warp_bins[thread / 32][thread % 32 + 32 * i] = 0;
}

template <typename Bits, bool kFloat, typename Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kTuning.blocks)
    RadixPassKernel(const __grid_constant__ RadixPassArgs<Bits, typename Tile::Payload> args,
                    const __grid_constant__ KeyOrder<Bits, kFloat> order) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<typename Tile::Shared*>(memory);
  const int passes = args.state->passes;
  if (args.pass >= passes) return;
  const int digit = args.state->digit[args.pass];
  const bool by_rank = kFloat && args.state->codes_differ_from_ranks != 0;
  const int thread = static_cast<int>(threadIdx.x);
  // Tiles are numbered as they begin, so a tile only waits for earlier ones, which are running.
  if (thread == 0) shared.tile = static_cast<int>(atomicAdd(args.statuses.d_tickets + args.launch, 1u));
  PrepareTile<Tile>(shared);
  __syncthreads();
  const int tile = shared.tile;
  const int shift = args.digits.shift[digit];
  const LookBack look_back(args.statuses, args.launch, args.tiles, tile, tile);
  const int64_t start = (int64_t{args.portion} * args.tiles + tile) * Tile::kKeys;
  const TileKeys keys{start, static_cast<int>(Clamp(args.count - start, 0, Tile::kKeys))};
  const auto place_of = [&](int bin, uint32_t before, uint32_t count) {
    const int64_t* const starts = args.portion == 0 ? args.state->bins[digit] : args.state->carried[args.portion % 2];
    const int64_t place = starts[bin] + before;
    if (tile == args.tiles - 1) args.state->carried[(args.portion + 1) % 2][bin] = place + count;
    return place;
  };
  if constexpr (kFloat) {
    if (by_rank) {
      RunRadixPass<Bits, kFloat, true, Tile>(args, args.pass == 0, args.pass, order, passes, shift, keys, look_back,
                                             place_of, shared);
      return;
    }
  }
  RunRadixPass<Bits, kFloat, false, Tile>(args, args.pass == 0, args.pass, order, passes, shift, keys, look_back,
                                          place_of, shared);
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_RADIX_PASS_CUH_
