// A call whose arrays travel in chunks: Execute, over one connection or several.
#ifndef CORANK_CLIENT_CPP_STREAM_CALL_H_
#define CORANK_CLIENT_CPP_STREAM_CALL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"

namespace corank::client {

/// Sends the jobs as one plan and takes their results, which are read while chunks are still sent: beyond the arrays
/// and the results, memory holds two chunks for each direction and connection, and results that go over an input once
/// more. `connections`: parts of the job, 1 or
/// more. `chunk_bytes`: at most, of a chunk. `max_plan_bytes`: of the arrays beyond the 1024 largest, which go in the
/// plan; INVALID_ARGUMENT if they have more. Fills *results, less the results' bytes, with one for each job. A try that
/// is broken off in mid-answer may be repeated too: all input is still there, and results are written anew.
absl::StatusOr<CallCost> CallWithStreams(Connection* connection, absl::Span<Job* const> jobs, int connections,
                                         int64_t chunk_bytes, int64_t max_plan_bytes, absl::Time deadline,
                                         const CallOptions& call, Repeat repeat,
                                         std::vector<v1::OperationResult>* results);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_STREAM_CALL_H_
