// How much of the host's memory is this process's to take.
#ifndef CORANK_KERNELS_COMMON_MEMORY_LIMIT_H_
#define CORANK_KERNELS_COMMON_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace corank {

/// Bytes of memory that this process may take before the system ends it: the machine's, or the limit of the container
/// that it runs in where that is less. As of the call; limits may be changed later.
int64_t HostMemoryBytes();

/// The least memory limit of the control groups that this process is in and that it can see: `memory.max` of version 2,
/// `memory.limit_in_bytes` of version 1, of its own group and of those above. The greatest int64_t where there is none.
/// `root` stands before /proc and /sys, for tests; what cannot be read there counts as no limit.
int64_t ControlGroupMemoryBytes(const std::string& root = "");

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_MEMORY_LIMIT_H_
