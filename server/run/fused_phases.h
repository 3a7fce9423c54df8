// Several small requests in one round trip to the device.
#ifndef CORANK_SERVER_RUN_FUSED_PHASES_H_
#define CORANK_SERVER_RUN_FUSED_PHASES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/model/outcome.h"
#include "server/run/operation.h"

namespace corank {

/// Whether an operation may be a member: it has phases, and its bytes are so few that copying them costs little beside
/// a round trip.
bool MayRunTogether(const Operation& operation);

/// A member of a batch.
struct FusedMember {
  PhasedOperation* operation = nullptr;
  Outcome* outcome = nullptr;
  absl::Status status;  // its result
};

/// Runs each phase for all members before the next phase: the inputs go in as one copy, the kernels run without waits
/// between them, the results come out as one copy, and there is one wait. If a member fails, the others continue; an
/// error of the stream fails all. Statistics cover the whole batch. Results are valid until the stream begins again.
/// The members must be able to run together.
void ExecuteTogether(EngineStream& stream, absl::Span<FusedMember> members);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_FUSED_PHASES_H_
