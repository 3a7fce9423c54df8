// Requests of every operator as the server runs them on a stream, for tests that let any call of them fail.
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
  /// From Begin to Finish, which comes whatever failed before it. The result is set where the status is OK.
  std::function<absl::Status(EngineStream& stream, WorkloadResult* result)> run;
  /// How it shows that the CUDA engine goes the way that this one is for: parts of the names of kernels, all of which
  /// it launches on a GPU of compute capability 9.0,
  std::vector<std::string> kernels;
  /// and what a sort reports to have taken, on every GPU; kAuto: it is no sort.
  SortAlgorithm sort_algorithm = SortAlgorithm::kAuto;
};

/// Each operator on each path through the CUDA engine that allocates, copies or launches in its own way. Made once.
const std::vector<Workload>& EngineWorkloads();
/// The one of this name, which is there.
const Workload& EngineWorkload(const std::string& name);

/// Those of one subject.
std::vector<Workload> SortWorkloads();
/// Large enough that AUTO looks at the keys.
std::vector<Workload> LookWorkloads();
std::vector<Workload> ColumnWorkloads();
std::vector<Workload> MergeWorkloads();
std::vector<Workload> IntervalWorkloads();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_ENGINE_WORKLOADS_H_
