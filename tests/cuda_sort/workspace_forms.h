// The forms of sorts that matter for their workspace.
#ifndef CORANK_TESTS_CUDA_SORT_WORKSPACE_FORMS_H_
#define CORANK_TESTS_CUDA_SORT_WORKSPACE_FORMS_H_

#include <cstdint>

#include "gtest/gtest.h"
#include "kernels/common/operators.h"

namespace corank::testing {

inline constexpr SortAlgorithm kAlgorithms[] = {SortAlgorithm::kAuto, SortAlgorithm::kMergesort, SortAlgorithm::kRadix,
                                                SortAlgorithm::kOddEvenMergesort};

/// The requested outputs beside the keys.
struct Payload {
  bool keys;
  bool indices;
  int value_bytes;
};

inline constexpr Payload kPayloads[] = {{true, false, 0},  {true, true, 0},   {false, true, 0},  {true, false, 1},
                                        {true, false, 3},  {true, false, 4},  {false, false, 4}, {true, false, 8},
                                        {true, false, 12}, {true, false, 256}};

/// SortArgs with valid sizes only.
inline SortArgs ArgsFor(KeyType type, Order order, SortAlgorithm algorithm, const Payload& payload, int64_t count) {
  static char some_memory;
  SortArgs args;
  args.key_type = type;
  args.order = order;
  args.algorithm = algorithm;
  args.count = count;
  args.keys_in = &some_memory;
  if (payload.keys) args.keys_out = &some_memory;
  if (payload.indices) args.indices_out = &some_memory;
  args.value_bytes = payload.value_bytes;
  if (payload.value_bytes > 0) args.values_in = args.values_out = &some_memory;
  return args;
}

/// Calls fn(algorithm, payload, order) for each form. Traces name the key type.
template <typename Fn>
void ForEachForm(KeyType type, Fn fn) {
  for (const SortAlgorithm algorithm : kAlgorithms) {
    for (const Payload& payload : kPayloads) {
      for (const Order order : {Order::kAscending, Order::kDescending}) {
        SCOPED_TRACE(::testing::Message()
                     << SortAlgorithmName(algorithm) << ", " << KeyTypeName(type)
                     << (order == Order::kAscending ? " ascending" : " descending") << ", keys " << payload.keys
                     << ", indices " << payload.indices << ", value bytes " << payload.value_bytes);
        fn(algorithm, payload, order);
      }
    }
  }
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_CUDA_SORT_WORKSPACE_FORMS_H_
