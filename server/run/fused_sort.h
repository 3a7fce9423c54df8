// Runs several small Sort requests as one. Brief ones run in place, in one launch. Others run as one segmented sort,
// with one copy in and one copy out.
#ifndef CORANK_SERVER_RUN_FUSED_SORT_H_
#define CORANK_SERVER_RUN_FUSED_SORT_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/model/outcome.h"
#include "server/run/ordered_operations.h"

namespace corank {

/// Whether the two may be members of one fused sort: inline arrays and results, keys of one type, order and algorithm,
/// and the same extras (values of one size, the permutation, or nothing).
bool CanFuse(const Operation& first, const Operation& next);

/// Sorts the members, which must fuse with each other, on the stream. outcomes[i] gets the result of members[i], valid
/// until the stream begins again. Each member's statistics cover the whole batch. An error is the engine's and applies
/// to all members.
absl::Status ExecuteFused(EngineStream& stream, absl::Span<const SortOperation* const> members,
                          absl::Span<Outcome* const> outcomes);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_FUSED_SORT_H_
