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
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as in corankd: it makes every lock slow
  setenv("GRPC_VERBOSITY", "NONE", 0);  // what went wrong is said once, in this program's own words
  return corank::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc));
}
