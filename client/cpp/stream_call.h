// A call whose arrays travel in chunks: Execute, over one connection or several.
#ifndef CORANK_CLIENT_CPP_STREAM_CALL_H_
#define CORANK_CLIENT_CPP_STREAM_CALL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"

namespace corank::client {

/// Sends the jobs as one plan, and receives their results while it still sends chunks. Besides arrays and results, it
/// holds two chunks for each direction and connection, and a second copy of results that overlap an input.
///
/// `connections` is the number of parts, 1 or more. Chunks have at most `chunk_bytes` bytes. Arrays beyond the 1024
/// largest go in the plan: INVALID_ARGUMENT if they have more than `max_plan_bytes` bytes. Fills *results with one
/// result for each job, without the arrays' bytes. An attempt that breaks in the middle of an answer may repeat: all
/// inputs are still there, and the next attempt writes the results anew.
absl::StatusOr<CallCost> CallWithStreams(Connection* connection, absl::Span<Job* const> jobs, int connections,
                                         int64_t chunk_bytes, int64_t max_plan_bytes, absl::Time deadline,
                                         const CallOptions& call, Repeat repeat,
                                         std::vector<v1::OperationResult>* results);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_STREAM_CALL_H_
