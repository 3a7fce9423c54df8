// How a Client runs jobs: finds their arrays' places, chooses the way, and tries the next one where that is allowed.
#ifndef CORANK_CLIENT_CPP_RUNNER_H_
#define CORANK_CLIENT_CPP_RUNNER_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cpp/connection.h"
#include "client/cpp/job.h"
#include "client/cpp/place_choice.h"
#include "client/cpp/regions.h"

namespace corank::client {

/// What came back besides the arrays.
struct JobAnswer {
  v1::OperationResult result;  // less the arrays' bytes
  RequestStats stats;
};

/// Thread-safe.
class Runner {
 public:
  Runner(const ClientOptions& options, std::unique_ptr<Credentials> credentials)
      : connection_(options, std::move(credentials)), regions_(&connection_) {}

  /// One operator. Its results are in their buffers.
  absl::StatusOr<JobAnswer> Run(Job* job, const CallOptions& call);
  /// Several, one after the other, in one Execute call.
  absl::StatusOr<std::vector<JobAnswer>> RunChain(absl::Span<Job* const> jobs, const CallOptions& call);

  Connection& connection() { return connection_; }
  Regions& regions() { return regions_; }

 private:
  absl::StatusOr<std::vector<JobAnswer>> RunJobs(absl::Span<Job* const> jobs, bool only_stream,
                                                 const CallOptions& call);

  Connection connection_;
  Regions regions_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_RUNNER_H_
