// corank: sort, merge and move arrays in files on a corank server.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "client/cli/commands.h"
#include "client/cli/files.h"

int main(int argc, char** argv) {
  corank::cli::HoldStandardStreams();
  corank::cli::RemoveTemporariesOnSignals();
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as in corankd: detection slows every lock
  setenv("GRPC_VERBOSITY", "NONE", 0);  // corank reports each error once, in its own words
  return corank::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc));
}
