// The expected results of the operators, in plain std:: code, made from a copy of the input and real_keys.h only.
#ifndef CORANK_TESTS_SUPPORT_ORACLES_H_
#define CORANK_TESTS_SUPPORT_ORACLES_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/group.h"
#include "kernels/common/join.h"
#include "kernels/common/select.h"
#include "kernels/common/sets.h"
#include "kernels/common/types.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

/// The stable permutation that sorts keys; by segments if offsets are given.
std::vector<int64_t> StableOrder(KeyType type, Order order, const Bytes& keys,
                                 const std::vector<int64_t>& segment_offsets = {});

/// The first `limit` of a sorted order from `offset` on, or of each of its segments, one behind the other; -1: all.
std::vector<int64_t> FirstOfOrder(std::vector<int64_t> order, int64_t limit, std::vector<int64_t> segment_offsets = {},
                                  int64_t offset = 0);

/// elements[positions[0]], elements[positions[1]], ...
Bytes Gather(const Bytes& elements, int element_bytes, const std::vector<int64_t>& positions);

/// The least index whose key comes before the previous key.
std::optional<int64_t> FirstUnsorted(KeyType type, Order order, const Bytes& keys);

/// The elements of a stable merge, as positions in the concatenation of all inputs.
std::vector<int64_t> MergeOrder(KeyType type, Order order, const std::vector<Bytes>& inputs);

/// Whether each key compares with the threshold, an array of one key, as the comparison says.
std::vector<bool> CompareAll(Comparison comparison, KeyType type, const Bytes& keys, const Bytes& threshold);

/// The result of a set operation on sorted sides, as positions in left followed by right.
std::vector<int64_t> SetOrder(SetOperation operation, KeyType type, Order order, const Bytes& left, const Bytes& right);

/// The rows of a join, as row numbers of the left and the right; -1: no partner.
std::vector<std::pair<int64_t, int64_t>> JoinRows(JoinKind kind, KeyType type, const Bytes& left, const Bytes& right);

/// Lower or upper bound of each needle.
std::vector<int64_t> Bounds(KeyType type, Order order, const Bytes& haystack, const Bytes& needles, SearchBound bound);

/// For each item: its object, and its rank within it.
std::pair<std::vector<int64_t>, std::vector<int64_t>> LoadBalance(const std::vector<int64_t>& counts);

/// The destination after copying the intervals one by one.
Bytes Move(const Bytes& source, Bytes destination, int element_bytes, const std::vector<int64_t>& source_offsets,
           const std::vector<int64_t>& destination_offsets, const std::vector<int64_t>& counts);

/// 0, counts[0], counts[0] + counts[1], ..., with one element for each count.
std::vector<int64_t> PrefixSums(const std::vector<int64_t>& counts);

/// The first overlapping pair of neighbours by destination offset, without empty intervals: (earlier, later) index.
std::optional<std::pair<int64_t, int64_t>> FirstOverlap(const std::vector<int64_t>& destination_offsets,
                                                        const std::vector<int64_t>& counts);

/// The groups of consecutive equal keys: the position of the first key of each.
std::vector<int64_t> GroupStarts(KeyType type, const Bytes& keys);

/// The reductions of the values from each start to the next one, as the engines write them. Sums of floats are those of
/// a binary tree over all positions; integers are exact, and `overflow` is the first group whose sum 64 bits do not
/// hold, or -1.
struct GroupReductions {
  Bytes sums, minima, maxima;
  Bytes value_counts;  // int64
  int64_t overflow = -1;
};
/// `valid`: which values are not null, and so take part; empty: all of them.
GroupReductions ReduceGroups(KeyType type, const Bytes& values, const std::vector<int64_t>& starts,
                             std::vector<bool> valid = {});

/// The rank of each key, by comparing it with every run of equal keys of a stable sort: uint32 or float64. By segments
/// if offsets are given.
Bytes Ranks(RankMethod method, KeyType type, Order order, const Bytes& keys,
            const std::vector<int64_t>& segment_offsets = {});

/// Indices as the engines write them: uint32 or uint64.
Bytes IndexArray(const std::vector<int64_t>& indices, int index_bytes);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SUPPORT_ORACLES_H_
