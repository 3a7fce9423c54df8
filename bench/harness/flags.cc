#include "bench/harness/flags.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/synchronization/mutex.h"

namespace corank::bench {

void ParseFlags(const char* usage, int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::vector<std::string> arguments(argv, argv + argc);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) {
    if (argument.rfind("--", 0) == 0) {
      const auto end = std::find(argument.begin() + 2, argument.end(), '=');
      std::replace(argument.begin() + 2, end, '-', '_');
    }
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  absl::SetProgramUsageMessage(usage);
  const std::vector<char*> left = absl::ParseCommandLine(argc, pointers.data());
  if (left.size() > 1) {
    std::fprintf(stderr, "%s: no such argument: %s\n", argv[0], left[1]);
    std::exit(1);
  }
}

}  // namespace corank::bench
