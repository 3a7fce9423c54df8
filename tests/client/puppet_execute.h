// Execute of the puppet: collects the chunks of all parts of a job, runs the plan, and distributes the results in
// chunks.
#ifndef CORANK_TESTS_CLIENT_PUPPET_EXECUTE_H_
#define CORANK_TESTS_CLIENT_PUPPET_EXECUTE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "corank/v1/corank_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

using ExecuteStream = grpc::ServerReaderWriter<v1::ExecuteResponse, v1::ExecuteRequest>;

/// Thread-safe.
class PuppetExecute {
 public:
  /// Runs one operation whose arrays lie in any place except streams. The results are inline.
  using Run = std::function<grpc::Status(grpc::ServerContext*, v1::Operation*, v1::OperationResult*)>;

  explicit PuppetExecute(Run run) : run_(std::move(run)) {}

  grpc::Status Serve(grpc::ServerContext* context, ExecuteStream* stream);

  /// Bytes of a result chunk. A chunk has at least one element.
  int64_t chunk_bytes = 1000;
  /// The plans of all calls, in order of arrival.
  std::vector<v1::Plan> plans();
  /// Bytes of the largest chunk received, and the number of chunks from each part.
  int64_t largest_chunk();
  std::map<int, int> chunks_by_part();
  /// The addresses of the callers.
  std::set<std::string> peers();

 private:
  struct Job;

  std::shared_ptr<Job> Join(const v1::Plan& plan, const std::string& peer);
  grpc::Status Receive(const v1::ArrayChunk& chunk, int part, Job* job);
  grpc::Status RunPlan(grpc::ServerContext* context, Job* job);

  const Run run_;
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::Plan> plans_ ABSL_GUARDED_BY(mutex_);
  int64_t largest_chunk_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int, int> chunks_by_part_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_PUPPET_EXECUTE_H_
