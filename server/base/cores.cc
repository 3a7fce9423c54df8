#include "server/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace corank {

int CoresOfQuota(absl::string_view cpu_max) {
  const std::vector<absl::string_view> words = absl::StrSplit(cpu_max, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  int64_t quota = 0, period = 0;
  if (words.size() != 2 || !absl::SimpleAtoi(words[0], &quota) || !absl::SimpleAtoi(words[1], &period)) return 0;
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota + period - 1) / period, CPU_SETSIZE));
}

int UsableCores() {
  cpu_set_t own;
  CPU_ZERO(&own);
  const int allowed = sched_getaffinity(0, sizeof own, &own) == 0 ? CPU_COUNT(&own) : 1;
  // A container sees its own group here.
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  const int quota = CoresOfQuota(std::string(std::istreambuf_iterator<char>(file), {}));
  return std::max(1, quota > 0 ? std::min(quota, allowed) : allowed);
}

}  // namespace corank
