// The outcome of one request: its results, which may still lie in a lane's memory, and its cost.
#ifndef CORANK_SERVER_MODEL_OUTCOME_H_
#define CORANK_SERVER_MODEL_OUTCOME_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "corank/v1/array.pb.h"
#include "corank/v1/operators.pb.h"
#include "server/base/clock.h"
#include "server/model/operator.h"
#include "server/model/result_target.h"

namespace corank {

/// The array of a response that a result belongs to: RoleName is its field. kColumnOffsets and kColumnValidity follow
/// the kColumnData of their column, in a message of their own.
enum class ResultRole : uint8_t {
  kKeys,
  kValues,
  kIndices,
  kColumnData,
  kColumnOffsets,
  kColumnValidity,
  kResult,
  kObjects,
  kRanks,
  kPositions,
  kCounts,
  kFirsts,
  kSums,
  kMinima,
  kMaxima,
  kCount,
  kLeftRows,
  kRightRows,
  kElements,
  kValueCounts,
};

inline constexpr int kResultRoles = static_cast<int>(ResultRole::kValueCounts) + 1;

constexpr const char* RoleName(ResultRole role) {
  constexpr const char* kNames[kResultRoles] = {"keys",     "values",    "indices",    "data",     "offsets",
                                                "validity", "result",    "objects",    "ranks",    "positions",
                                                "counts",   "firsts",    "sums",       "minima",   "maxima",
                                                "count",    "left_rows", "right_rows", "elements", "value_counts"};
  return kNames[static_cast<int>(role)];
}

/// Results up to this size are copied into the rest of the response, which is cheaper than a separate piece.
inline constexpr int64_t kCopiedResultBytes = 16 << 10;

/// A dense result. Borrows its bytes unless a target or `owned_bytes` keeps them.
struct ResultArray {
  ResultRole role = ResultRole::kResult;
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  const void* bytes = nullptr;  // count * element_bytes bytes; null if none, or none for the response
  std::shared_ptr<ResultTarget> target = nullptr;  // null: the bytes go into the response
  // After Commit of a result with a target: its description in the response; without a place if the bytes go into the
  // response after all.
  std::shared_ptr<const v1::Array> described = nullptr;
  // Owns the bytes once they are not in a lane's memory.
  std::shared_ptr<const void> owned_bytes = nullptr;

  bool is_inline() const { return described == nullptr || described->place_case() == v1::Array::PLACE_NOT_SET; }
};

/// The results are present only if the request succeeded.
struct Outcome {
  absl::InlinedVector<ResultArray, 3> results;
  v1::SortAlgorithm sort_algorithm = v1::SORT_ALGORITHM_UNSPECIFIED;     // of a Sort
  v1::MergeAlgorithm merge_algorithm = v1::MERGE_ALGORITHM_UNSPECIFIED;  // of a Merge
  v1::RequestStats stats;
  std::vector<Operator> shared;     // those of the request's operators that several devices shared
  std::optional<Instant> started;   // when a lane took the request; unset: none did
  std::optional<Instant> finished;  // when the lane had finished it

  /// So many devices have done the work of an operator.
  void SetDevices(Operator op, int devices) {
    stats.set_devices(devices);
    if (devices > 1) shared.push_back(op);
  }
};

}  // namespace corank

#endif  // CORANK_SERVER_MODEL_OUTCOME_H_
