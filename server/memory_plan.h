// Divides the host's memory among everything that a server keeps there.
#ifndef CORANK_SERVER_MEMORY_PLAN_H_
#define CORANK_SERVER_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/engine/engine.h"
#include "server/run/stream_options.h"
#include "server/schedule/device_memory.h"

namespace corank {

/// Budgets that fit together. Configured values apply even if they exceed the memory; open ones (0) share what the
/// others leave. An eighth of the host's memory remains for lanes, libraries and the process.
struct MemoryPlan {
  struct Needs {
    /// Memory available to this process: HostMemoryBytes().
    int64_t host_bytes = 0;
    EngineKind engine = EngineKind::kCpu;
    std::vector<int64_t> device_bytes;  // of each device, at least one
    int long_lanes = 1;                 // of each device
    int64_t host_pool_bytes = 0;
    int64_t buffered_bytes = 0;       // incomplete incoming messages
    int64_t relay_bytes = 0;          // EngineInfo::relay_bytes of all devices
    int64_t kept_bytes = 0;           // stored arrays on each device
    int64_t device_budget_bytes = 0;  // 0: nine tenths of the device's, less stored arrays
    StreamOptions streams;
  };

  static MemoryPlan Make(const Needs& needs);

  /// With all values derived.
  StreamOptions streams;
  /// Budgets of running requests.
  DeviceMemory::Options budgets;
  /// What the lanes of each device may keep between requests, beside the budgets.
  std::vector<KeptMemory> lanes;
  /// Host memory that may be in use at the same time, in total.
  int64_t host_bytes = 0;
  /// Likely mistakes, with the flags and the remedy: more than there is, or budgets too small to be useful.
  std::vector<std::string> warnings;
  /// Why a server with these budgets would be useless; empty: it is useful.
  std::string error;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_PLAN_H_
