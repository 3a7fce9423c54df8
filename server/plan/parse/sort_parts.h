// Shared by the two forms of a Sort request: keys in one array (sort.cc) and in several columns (column_sort.cc).
#ifndef CORANK_SERVER_PLAN_PARSE_SORT_PARTS_H_
#define CORANK_SERVER_PLAN_PARSE_SORT_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "corank/v1/operators.pb.h"
#include "server/model/operand.h"
#include "server/plan/parse/validate.h"

namespace corank {

/// The results of a Sort.
struct SortOutputs {
  bool keys = true;
  bool indices = false;
  bool ranks = false;
};

absl::StatusOr<SortAlgorithm> CheckSortAlgorithm(v1::SortAlgorithm algorithm);
absl::StatusOr<SortOutputs> CheckSortOutput(v1::SortOutput output);
/// The values, if present. Does not check their number.
absl::StatusOr<std::optional<Operand>> CheckSortValues(const v1::SortRequest& request, const SortOutputs& outputs,
                                                       Places& places);
/// The limit, or -1.
absl::StatusOr<int64_t> CheckSortLimit(const v1::SortRequest& request);
absl::StatusOr<int64_t> CheckSortOffset(const v1::SortRequest& request, const SortOutputs& outputs);

/// A request with key columns.
absl::StatusOr<std::unique_ptr<Operation>> ValidateColumnSort(const v1::SortRequest& request, const Limits& limits,
                                                              Places& places);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_SORT_PARTS_H_
