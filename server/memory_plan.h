// How the memory of the host is shared out among all that a server keeps there.
#ifndef CORANK_SERVER_MEMORY_PLAN_H_
#define CORANK_SERVER_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/engine/engine.h"
#include "server/admit/device_memory.h"
#include "server/execute/stream_options.h"

namespace corank {

/// Budgets that fit together. What the configuration says holds, also where it is more than there is; what it leaves
/// open (0) takes of what the rest leaves. An eighth of the host's memory stays for lanes, libraries and the process.
struct MemoryPlan {
  struct Needs {
    /// Of this process: HostMemoryBytes().
    int64_t host_bytes = 0;
    EngineKind engine = EngineKind::kCpu;
    std::vector<int64_t> device_bytes;  // of each device, at least one
    int long_lanes = 1;                 // of each device
    int64_t host_pool_bytes = 0;
    int64_t buffered_bytes = 0;       // messages on their way in
    int64_t kept_bytes = 0;           // arrays kept on each device
    int64_t device_budget_bytes = 0;  // 0: nine tenths of what the device has, less kept arrays
    StreamOptions streams;
  };

  static MemoryPlan Make(const Needs& needs);

  /// With nothing left open.
  StreamOptions streams;
  /// Of requests in work.
  DeviceMemory::Options budgets;
  /// All of the host's memory that may be in use at once.
  int64_t host_bytes = 0;
  /// What is hardly meant, with the flags and what to change: more than there is, budgets with which little works.
  std::vector<std::string> warnings;
  /// Why a server with these budgets would be of no use; empty: it would be.
  std::string error;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_PLAN_H_
