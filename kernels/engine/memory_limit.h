// The memory of the host that this process may use.
#ifndef CORANK_KERNELS_ENGINE_MEMORY_LIMIT_H_
#define CORANK_KERNELS_ENGINE_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace corank {

/// Bytes of memory that this process may use before the system kills it: the memory of the machine, or the limit of its
/// container if that is less. Limits may change after the call.
int64_t HostMemoryBytes();

/// The least memory limit among the control groups of this process that it can see: its own group and the ancestors.
/// Reads `memory.max` (version 2) or `memory.limit_in_bytes` (version 1). Returns the largest int64_t if there is no
/// limit. `root` is a prefix of /proc and /sys, for tests. Files that cannot be read set no limit.
int64_t ControlGroupMemoryBytes(const std::string& root = "");

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_MEMORY_LIMIT_H_
