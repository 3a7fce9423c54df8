// What the work of one request came to: results that still lie in a lane's memory, and their cost.
#ifndef CORANK_SERVER_RESPOND_OUTCOME_H_
#define CORANK_SERVER_RESPOND_OUTCOME_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "corank/v1/array.pb.h"
#include "corank/v1/operators.pb.h"
#include "server/observe/clock.h"
#include "server/respond/result_target.h"

namespace corank {

/// Which array of a response a result is.
/// kColumnOffsets follows the kColumnData that it belongs to.
enum class ResultRole : uint8_t {
  kKeys,
  kValues,
  kIndices,
  kColumnData,
  kColumnOffsets,
  kResult,
  kObjects,
  kRanks,
  kPositions,
};

/// A dense result. Borrows its bytes, unless a target keeps them or `owned_bytes` does.
struct ResultArray {
  ResultRole role = ResultRole::kResult;
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  const void* bytes = nullptr;  // count * element_bytes of them; null where there are none, or none for the response
  std::shared_ptr<ResultTarget> target = nullptr;  // null: the bytes go into the response
  // What the response says of a result with a target, once it is committed; without a place where the bytes go into the
  // response after all.
  std::shared_ptr<const v1::Array> described = nullptr;
  // Owns the bytes, where they are not a lane's any more.
  std::shared_ptr<const void> owned_bytes = nullptr;

  bool is_inline() const { return described == nullptr || described->place_case() == v1::Array::PLACE_NOT_SET; }
};

/// Results are there only for a request that succeeded.
struct Outcome {
  absl::InlinedVector<ResultArray, 3> results;
  v1::SortAlgorithm sort_algorithm = v1::SORT_ALGORITHM_UNSPECIFIED;     // of a Sort
  v1::MergeAlgorithm merge_algorithm = v1::MERGE_ALGORITHM_UNSPECIFIED;  // of a Merge
  v1::RequestStats stats;
  std::optional<Instant> started;   // when a lane took it up; unset where none did
  std::optional<Instant> finished;  // when the lane was through with it
};

}  // namespace corank

#endif  // CORANK_SERVER_RESPOND_OUTCOME_H_
