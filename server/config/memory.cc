#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/engine/memory_limit.h"
#include "server/base/status_macros.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"

ABSL_FLAG(corank::ByteCount, host_pool_bytes, 0,
          "Pinned host memory for requests and answers in transit, at least --max-request-bytes. 0: a quarter of the "
          "memory available to this process, at most 8GiB.");
ABSL_FLAG(std::vector<std::string>, shared_memory, {},
          "Name prefixes, separated by commas, of the POSIX shared-memory objects that callers may register, such as "
          "/corank-. Empty turns shared memory off.");
ABSL_FLAG(bool, cuda_ipc, false,
          "Whether callers may register GPU memory of other processes. Enable it for trusted callers only: kernels "
          "read this memory in place, and a process that changes it meanwhile can break the server.");
ABSL_FLAG(
    absl::Duration, region_expiry, absl::Minutes(10),
    "The server unregisters a region without a lease that nobody used for this long, and ends a lease that had no "
    "region for as long, 1s to 24h.");
ABSL_FLAG(corank::ByteCount, kept_bytes, 0,
          "Memory of each device for arrays that callers store on the server. 0 turns stored arrays off.");
ABSL_FLAG(corank::ByteCount, kept_quota_bytes, 0,
          "Memory that the stored arrays of one caller may take on all devices together, at most 64 times "
          "--kept-bytes. 0: no limit of its own.");
ABSL_FLAG(absl::Duration, kept_expiry, absl::Hours(1),
          "The server deletes a stored array that nobody used for this long, unless its creator set another time, 1s "
          "to 24h.");

namespace corank {
namespace {

absl::Status CheckPrefixes(const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    if (prefix.size() < 2 || prefix.front() != '/' || prefix.find('/', 1) != std::string::npos) {
      return BadValue("shared-memory", absl::StrCat("'", prefix,
                                                    "' is not a slash and at least one more character, such as "
                                                    "/corank-"));
    }
  }
  return absl::OkStatus();
}

// The number of devices is unknown here.
int64_t MostKept(int64_t bytes_of_each) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes_of_each > kMost / DeviceSet::kMaxDevices ? kMost : bytes_of_each * DeviceSet::kMaxDevices;
}

absl::Status ReadMemory(Configuration& configuration) {
  Server::Options& server = configuration.server;
  server.host_pool.max_bytes = absl::GetFlag(FLAGS_host_pool_bytes);
  if (server.host_pool.max_bytes == 0) {
    const int64_t quarter = std::min(HostMemoryBytes() / 4, int64_t{8} << 30);
    server.host_pool.max_bytes = std::max(quarter, server.limits.max_request_bytes);
  }
  if (server.host_pool.max_bytes < server.limits.max_request_bytes) {
    return BadValue("host-pool-bytes", absl::StrCat(server.host_pool.max_bytes, " is less than --max-request-bytes, ",
                                                    server.limits.max_request_bytes));
  }
  server.regions.shared_memory_prefixes = absl::GetFlag(FLAGS_shared_memory);
  CORANK_RETURN_IF_ERROR(CheckPrefixes(server.regions.shared_memory_prefixes));
  server.regions.cuda_ipc = absl::GetFlag(FLAGS_cuda_ipc);
  if (server.regions.cuda_ipc && configuration.engine.choice == EngineChoice::kCpu) {
    configuration.warnings.emplace_back("--cuda-ipc: --engine=cpu has no GPU memory, and nobody can register any");
  }
  CORANK_RETURN_IF_ERROR(Take(FLAGS_region_expiry, server.regions.expiry, absl::Seconds(1)));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_kept_bytes, server.arrays.max_bytes, 0));
  server.arrays.quota_bytes = absl::GetFlag(FLAGS_kept_quota_bytes);
  if (server.arrays.quota_bytes > 0 && server.arrays.max_bytes == 0) {
    return BadValue("kept-quota-bytes", "there are no kept arrays without --kept-bytes");
  }
  CORANK_RETURN_IF_ERROR(Take(FLAGS_kept_quota_bytes, server.arrays.quota_bytes, 0, MostKept(server.arrays.max_bytes)));
  return Take(FLAGS_kept_expiry, server.arrays.default_expiry, absl::Seconds(1));
}

}  // namespace

Group MemoryGroup() {
  return {"memory",
          "Host memory, shared memory and stored arrays",
          {Shown(FLAGS_host_pool_bytes), Shown(FLAGS_shared_memory), Shown(FLAGS_cuda_ipc), Shown(FLAGS_region_expiry),
           Shown(FLAGS_kept_bytes), Shown(FLAGS_kept_quota_bytes), Shown(FLAGS_kept_expiry)},
          ReadMemory};
}

}  // namespace corank
