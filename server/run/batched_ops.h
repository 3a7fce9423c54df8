// Several small requests in one round trip to the device: any operators one after another, or sorts as one sort.
#ifndef CORANK_SERVER_RUN_BATCHED_OPS_H_
#define CORANK_SERVER_RUN_BATCHED_OPS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/model/outcome.h"
#include "server/run/device_ops/sort.h"
#include "server/run/operation.h"

namespace corank {

/// A member of a batch.
struct BatchMember {
  PhasedOperation* operation = nullptr;  // small: copying its bytes costs little beside a round trip
  Outcome* outcome = nullptr;
  absl::Status status;  // its result
};

/// Runs each phase for all members before the next phase: the inputs go in as one copy, the kernels run without waits
/// between them, the results come out as one copy, and there is one wait. If a member fails, the others continue; an
/// error of the stream fails all. Statistics cover the whole batch. Results are valid until the stream begins again.
void ExecuteTogether(EngineStream& stream, absl::Span<BatchMember> members);

/// Whether the two may be members of one fused sort: inline arrays and results, keys of one type, order and algorithm,
/// and the same extras (values of one size, the permutation, or nothing).
bool CanFuse(const Operation& first, const Operation& next);

/// Sorts the members, which are SortOperations that fuse with each other. An error applies to all of them; the rest is
/// as above.
void ExecuteFused(EngineStream& stream, absl::Span<BatchMember> members);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_BATCHED_OPS_H_
