// Several small Sort requests as one: brief ones where they lie, in one launch; others as one segmented sort, with one
// copy in and one copy out.
#ifndef CORANK_SERVER_EXECUTE_FUSED_SORT_H_
#define CORANK_SERVER_EXECUTE_FUSED_SORT_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/execute/ordered_operations.h"
#include "server/respond/outcome.h"

namespace corank {

/// Whether the two may be members of one fused sort: arrays in the message and for the response, keys of one type,
/// order and algorithm, and alike in what goes with them (values of one size, the permutation, or nothing).
bool CanFuse(const Operation& first, const Operation& next);

/// Sorts the members, which fuse with each other, on the stream; outcomes[i] gets the result of members[i], valid until
/// the stream begins anew. The statistics of each are those of the whole. Errors are the engine's, for all members.
absl::Status ExecuteFused(EngineStream& stream, absl::Span<const SortOperation* const> members,
                          absl::Span<Outcome* const> outcomes);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_FUSED_SORT_H_
