// Requests of every operator as the server runs them on a stream, for tests that fail any of their calls.
#ifndef CORANK_TESTS_FAULTS_ENGINE_WORKLOADS_H_
#define CORANK_TESTS_FAULTS_ENGINE_WORKLOADS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/common/operators.h"
#include "kernels/engine/engine.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

struct WorkloadResult {
  std::vector<Bytes> outputs;
  OperatorReport report;
};

struct Workload {
  std::string name;
  /// Runs from Begin to Finish, which is called even after an error. Sets the result if the status is OK.
  std::function<absl::Status(EngineStream& stream, WorkloadResult* result)> run;
  /// Evidence that the CUDA engine takes the intended path: parts of the names of kernels. On a GPU of compute
  /// capability 9.0 it launches all of them.
  std::vector<std::string> kernels;
  /// The algorithm that a sort reports on every GPU; kAuto: the workload is not a sort.
  SortAlgorithm sort_algorithm = SortAlgorithm::kAuto;
};

/// Each operator on each path through the CUDA engine that allocates, copies or launches in its own way. Made once.
const std::vector<Workload>& EngineWorkloads();
/// The workload of this name, which must exist.
const Workload& EngineWorkload(const std::string& name);

/// The workloads of one subject.
std::vector<Workload> SortWorkloads();
/// Large enough that AUTO looks at the keys.
std::vector<Workload> LookWorkloads();
std::vector<Workload> ColumnWorkloads();
std::vector<Workload> MergeWorkloads();
std::vector<Workload> IntervalWorkloads();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_ENGINE_WORKLOADS_H_
