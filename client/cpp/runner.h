// Runs jobs: places their arrays, chooses how they travel, and falls back to another way where that is allowed.
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

/// The answer without the arrays.
struct JobAnswer {
  v1::OperationResult result;  // without the arrays' bytes
  RequestStats stats;
};

/// Runs the jobs of one Client. Thread-safe.
class Runner {
 public:
  Runner(const ClientOptions& options, std::unique_ptr<Credentials> credentials)
      : connection_(options, std::move(credentials)), regions_(&connection_) {}

  /// Runs one operator. Its results are in their buffers.
  absl::StatusOr<JobAnswer> Run(Job* job, const CallOptions& call);
  /// Runs several operators, one after the other, in one Execute call.
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
