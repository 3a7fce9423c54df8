// How many cores this process may use.
#ifndef CORANK_SERVER_BASE_CORES_H_
#define CORANK_SERVER_BASE_CORES_H_

#include "absl/strings/string_view.h"

namespace corank {

/// The cores that the process may run on, or fewer if its control group has a lower limit, as a container's has. One at
/// least.
int UsableCores();

/// The limit that a cpu.max file of a control group (version 2) states, rounded up: 3 for "250000 100000". 0: none.
int CoresOfQuota(absl::string_view cpu_max);

}  // namespace corank

#endif  // CORANK_SERVER_BASE_CORES_H_
