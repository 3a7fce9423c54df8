// Several small requests in one round trip to the device.
#ifndef CORANK_SERVER_EXECUTE_FUSED_PHASES_H_
#define CORANK_SERVER_EXECUTE_FUSED_PHASES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/engine/engine.h"
#include "server/execute/operation.h"
#include "server/respond/outcome.h"

namespace corank {

/// Whether it may be a member: phases, and so few bytes that its copies are nothing to a round trip.
bool MayRunTogether(const Operation& operation);

/// A member of a batch.
struct FusedMember {
  PhasedOperation* operation = nullptr;
  Outcome* outcome = nullptr;
  absl::Status status;  // what became of it
};

/// Runs each phase for all members before the next phase: their inputs go in as one copy, the kernels follow each other
/// without a wait, results come out as one copy, and there is one wait. A member that fails leaves the others alone; an
/// error of the stream is that of all. Statistics are those of the whole. Results are valid until the stream begins
/// anew. The members may run together.
void ExecuteTogether(EngineStream& stream, absl::Span<FusedMember> members);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_FUSED_PHASES_H_
