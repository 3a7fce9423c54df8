// Work for `corank bench`: random input of one shape for one operator, the call, and an independent check of its
// answer.
#ifndef CORANK_CLIENT_CLI_WORKLOAD_H_
#define CORANK_CLIENT_CLI_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/client.h"
#include "corank/types.h"

namespace corank::cli {

/// One operator on one input. Call is thread-safe.
class Workload {
 public:
  virtual ~Workload() = default;
  /// Runs the operator once, discards the answer and returns its cost.
  virtual absl::StatusOr<client::RequestStats> Call(const client::Client& client) const = 0;
  /// Runs the operator once and compares the answer with that of plain standard algorithms. DATA_LOSS if they differ.
  virtual absl::Status Check(const client::Client& client) const = 0;
  /// Payload bytes of a request and its answer together.
  virtual int64_t bytes() const = 0;
};

/// The operators that CreateWorkload knows.
std::vector<std::string> WorkloadNames();

/// `name` is one of WorkloadNames(), else null; `count` is the number of elements of the longest array. The same seed
/// gives the same input.
std::unique_ptr<Workload> CreateWorkload(const std::string& name, KeyType type, int64_t count, uint64_t seed);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_WORKLOAD_H_
