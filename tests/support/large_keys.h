// Arrays of more elements than 32-bit arithmetic can count, whose stable order is known without sorting them.
#ifndef CORANK_TESTS_SUPPORT_LARGE_KEYS_H_
#define CORANK_TESTS_SUPPORT_LARGE_KEYS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/common/types.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

/// Unsigned keys of 1, 2 or 4 bytes: a repeated pattern of ranges of equal keys.
class LargeKeys {
 public:
  /// Ranges of 1 to 15 equal keys. `distinct` keys, spread over all values of `key_bytes` bytes, drawn by `seed`.
  static LargeKeys Random(int64_t count, int key_bytes, int64_t distinct, uint64_t seed);
  /// 256 keys, spread over all values of `key_bytes` bytes, in each of `runs` runs, ascending or descending.
  static LargeKeys Runs(int64_t count, int key_bytes, int64_t runs, Order order);
  /// The beginning of run i of Runs. i may equal the number of runs.
  int64_t RunStart(int64_t run) const {
    const auto range = static_cast<size_t>(run * kDistinct);
    return range < ranges_.size() ? ranges_[range].first : count_;
  }

  int64_t count() const { return count_; }
  int key_bytes() const { return key_bytes_; }
  /// The keys of the first period, which repeats.
  Bytes FirstPeriod() const;

  /// Calls fn(key, first, length) for ranges of equal keys in stable order: the next keys are those of indices `first`
  /// to first + length - 1. Stops after `results` keys.
  template <typename Fn>
  void InOrder(Order order, int64_t results, Fn fn) const {
    std::vector<Range> sorted = ranges_;
    std::stable_sort(sorted.begin(), sorted.end(), [order](const Range& a, const Range& b) {
      return order == Order::kAscending ? a.key < b.key : b.key < a.key;
    });
    for (auto begin = sorted.begin(); begin != sorted.end() && results > 0;) {
      const auto end = std::find_if(begin, sorted.end(), [&](const Range& range) { return range.key != begin->key; });
      for (int64_t start = 0; start < count_; start += period_) {
        for (auto range = begin; range != end && results > 0; ++range) {
          const int64_t first = start + range->first;
          const int64_t length = std::min({range->length, count_ - first, results});
          if (length <= 0) break;
          fn(range->key, first, length);
          results -= length;
        }
      }
      begin = end;
    }
  }

 private:
  struct Range {
    uint32_t key;
    int64_t first, length;
  };

  static constexpr int64_t kDistinct = 256;  // keys in a run

  LargeKeys(int64_t count, int key_bytes) : count_(count), key_bytes_(key_bytes) {}

  int64_t count_;
  int key_bytes_;
  int64_t period_ = 0;
  std::vector<Range> ranges_;  // ranges of one period, by index
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_LARGE_KEYS_H_
