// Requests of every operator as the server runs them on a stream, for tests that let any call of them fail.
#ifndef CORANK_TESTS_FAULTS_ENGINE_WORKLOADS_H_
#define CORANK_TESTS_FAULTS_ENGINE_WORKLOADS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/engine/engine.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

struct Workload {
  std::string name;
  /// From Begin to Finish, which comes whatever failed before it. The outputs are set where the status is OK.
  std::function<absl::Status(EngineStream& stream, std::vector<Bytes>* outputs)> run;
};

/// Each operator on each path through the engines that allocates, copies or launches in its own way.
std::vector<Workload> EngineWorkloads();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_ENGINE_WORKLOADS_H_
