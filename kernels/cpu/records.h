// Moves records of fixed width: one instantiation for each common width, and one for all others.
#ifndef CORANK_KERNELS_CPU_RECORDS_H_
#define CORANK_KERNELS_CPU_RECORDS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/parallel.h"

namespace corank::cpu {

/// Copies records of kBytes bytes, or of a width known at run time if kBytes is 0.
template <int kBytes>
class RecordCopier {
 public:
  explicit RecordCopier(int bytes) : bytes_(bytes) {}

  /// to[to_index] = from[from_index].
  void operator()(void* to, int64_t to_index, const void* from, int64_t from_index) const {
    const int64_t width = kBytes > 0 ? kBytes : bytes_;
    std::memcpy(static_cast<char*>(to) + to_index * width, static_cast<const char*>(from) + from_index * width,
                static_cast<size_t>(width));
  }

 private:
  int bytes_;
};

/// Calls fn(RecordCopier<...>) for records of `bytes` bytes.
template <typename Fn>
void WithRecordCopier(int bytes, const Fn& fn) {
  switch (bytes) {
    case 1:
      return fn(RecordCopier<1>(bytes));
    case 2:
      return fn(RecordCopier<2>(bytes));
    case 4:
      return fn(RecordCopier<4>(bytes));
    case 8:
      return fn(RecordCopier<8>(bytes));
    case 16:
      return fn(RecordCopier<16>(bytes));
    default:
      return fn(RecordCopier<0>(bytes));
  }
}

/// to[i] = from[source(i)] for i in [0, count), records of `bytes` bytes.
template <typename Source>
void GatherRecords(void* to, const void* from, int bytes, int64_t count, const Source& source, Parallel& parallel) {
  // Each record misses the caches and the TLB: prefetch it while earlier ones are in flight.
  constexpr int64_t kAhead = 32;
  constexpr int64_t kGrain = int64_t{1} << 12;
  WithRecordCopier(bytes, [&](auto copy) {
    parallel.ForRange(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        __builtin_prefetch(static_cast<const char*>(from) + source(std::min(i + kAhead, end - 1)) * bytes);
        copy(to, i, from, source(i));
      }
    });
  });
}

/// Bit i of `to` is bit source(i) of `from`, for i in [0, count); further bits of the last byte are 0. Bit i of a
/// bitmap is bit i % 8 of its byte i / 8, the least significant first.
template <typename Source>
void GatherBits(uint8_t* to, const uint8_t* from, int64_t count, const Source& source, Parallel& parallel) {
  constexpr int64_t kGrain = int64_t{1} << 9;  // bytes
  parallel.ForRange(count / 8 + (count % 8 != 0), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t byte = begin; byte < end; ++byte) {
      int bits = 0;
      for (int64_t i = 8 * byte; i < std::min(8 * byte + 8, count); ++i) {
        const int64_t bit = source(i);
        bits |= (from[bit / 8] >> (bit % 8) & 1) << (i % 8);
      }
      to[byte] = static_cast<uint8_t>(bits);
    }
  });
}

/// Calls fn(a value of the unsigned type of `bytes` bytes); bytes is 4 or 8.
template <typename Fn>
void WithIndexType(int bytes, const Fn& fn) {
  if (bytes == 4) {
    fn(uint32_t{});
  } else {
    fn(uint64_t{});
  }
}

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_RECORDS_H_
