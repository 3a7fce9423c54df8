#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/status_macros.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"

ABSL_FLAG(int32_t, max_queued_requests, 1024,
          "Maximum number of waiting requests, 1 or more. The server refuses further ones.");
ABSL_FLAG(corank::ByteCount, max_queued_bytes, int64_t{4} << 30,
          "Maximum total bytes of waiting requests, at least --max-request-bytes.");
ABSL_FLAG(corank::ByteCount, direct_bytes, 16 << 10,
          "A request of at most this many bytes, up to 1MiB, runs on the thread that receives it if nothing waits. 0: "
          "none does.");
ABSL_FLAG(corank::ByteCount, host_bytes, 64 << 10,
          "A request whose arrays and results are all inline and have at most this many bytes, up to 1MiB, runs at "
          "once on the host's CPU, on the thread that receives it, without queueing; its response says so. The limit "
          "doubles for interval operators, and for sorts and merges (of up to eight arrays) of bare keys of 4 bytes or "
          "more. 0: none does.");

ABSL_FLAG(std::vector<std::string>, tenant_weights, {},
          "Shares of tenants that wait at the same priority: NAME=WEIGHT pairs separated by commas, 0.001 to 1000. "
          "Other tenants have weight 1.");
ABSL_FLAG(int32_t, tenant_max_queued_requests, 0,
          "Maximum number of waiting requests of one tenant. 0: no fixed limit, but a named tenant cannot fill the "
          "whole queue.");
ABSL_FLAG(
    corank::ByteCount, tenant_max_queued_bytes, 0,
    "Maximum total bytes of one tenant's waiting requests, at least --max-request-bytes. 0: no fixed limit, as above.");
ABSL_FLAG(
    int32_t, tenant_max_rate, 0,
    "Requests a second that one tenant may make on all its connections, and as many at once: calls of operators and "
    "of Execute, and calls that register memory or store or fetch arrays. The server refuses others unread; with "
    "ModelStreamInfer, it reads them first. 0: no limit.");
ABSL_FLAG(int32_t, batch_delay_us, 0,
          "Microseconds that a small request waits for others to form a batch while a lane is free, 0 to 1000000.");
ABSL_FLAG(corank::ByteCount, batch_bytes, 1 << 20,
          "Maximum total bytes of the small requests that form one batch, up to 1GiB.");
ABSL_FLAG(corank::ByteCount, device_budget_bytes, 0,
          "Memory of each device that running requests may take together, 1MiB or more; further requests wait. 0: nine "
          "tenths of the device's memory, less --kept-bytes. With the CPU engine, 0 means at most nine tenths of half "
          "of the memory that the other budgets leave.");

namespace corank {
namespace {

constexpr int64_t kMostRequests = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostRate = 1'000'000'000;  // one a nanosecond

absl::Status ReadWeights(FairLine::Weights& weights) {
  for (const std::string& entry : absl::GetFlag(FLAGS_tenant_weights)) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    double weight = 0;
    if (parts.first.empty() || !absl::SimpleAtod(parts.second, &weight) || !(weight >= 0.001 && weight <= 1000)) {
      return BadValue("tenant-weights",
                      absl::StrCat("'", entry, "' is not NAME=WEIGHT with a weight of 0.001 to 1000"));
    }
    if (!weights.emplace(parts.first, weight).second) {
      return BadValue("tenant-weights", absl::StrCat("'", parts.first, "' is given twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadShares(Server::Options& server) {
  Scheduler::Options& queue = server.queue;
  CORANK_RETURN_IF_ERROR(ReadWeights(queue.weights));
  CORANK_RETURN_IF_ERROR(Take(FLAGS_tenant_max_queued_requests, queue.tenant_max_requests, 0, kMostRequests));
  queue.tenant_max_bytes = absl::GetFlag(FLAGS_tenant_max_queued_bytes);
  if (queue.tenant_max_bytes != 0 && queue.tenant_max_bytes < server.limits.max_request_bytes) {
    return BadValue(
        "tenant-max-queued-bytes",
        absl::StrCat(queue.tenant_max_bytes, " is less than --max-request-bytes, ", server.limits.max_request_bytes));
  }
  return Take(FLAGS_tenant_max_rate, server.tenant_max_rate, 0, kMostRate);
}

absl::Status ReadBatches(Server::Options& server) {
  int64_t delay_us = 0;
  CORANK_RETURN_IF_ERROR(Take(FLAGS_batch_delay_us, delay_us, 0, 1'000'000));
  server.queue.batch_delay = absl::Microseconds(delay_us);
  CORANK_RETURN_IF_ERROR(Take(FLAGS_batch_bytes, server.queue.batch_bytes, 0, int64_t{1} << 30));
  server.device_budget_bytes = absl::GetFlag(FLAGS_device_budget_bytes);
  if (server.device_budget_bytes == 0) return absl::OkStatus();
  return Take(FLAGS_device_budget_bytes, server.device_budget_bytes, int64_t{1} << 20);
}

absl::Status ReadQueue(Configuration& configuration) {
  Server::Options& server = configuration.server;
  CORANK_RETURN_IF_ERROR(Take(FLAGS_max_queued_requests, server.queue.max_requests, 1, kMostRequests));
  server.queue.max_bytes = absl::GetFlag(FLAGS_max_queued_bytes);
  if (server.queue.max_bytes < server.limits.max_request_bytes) {
    return BadValue("max-queued-bytes", absl::StrCat(server.queue.max_bytes, " is less than --max-request-bytes, ",
                                                     server.limits.max_request_bytes));
  }
  CORANK_RETURN_IF_ERROR(ReadShares(server));
  CORANK_RETURN_IF_ERROR(ReadBatches(server));
  server.long_queue = server.queue;
  CORANK_RETURN_IF_ERROR(Take(FLAGS_direct_bytes, server.queue.direct_bytes, 0, int64_t{1} << 20));
  return Take(FLAGS_host_bytes, server.host_bytes, 0, int64_t{1} << 20);
}

}  // namespace

Group QueueGroup() {
  return {"queue",
          "Queueing, fair shares and batching",
          {Shown(FLAGS_max_queued_requests), Shown(FLAGS_max_queued_bytes), Shown(FLAGS_direct_bytes),
           Shown(FLAGS_host_bytes), Hidden(FLAGS_tenant_weights), Shown(FLAGS_tenant_max_queued_requests),
           Shown(FLAGS_tenant_max_queued_bytes), Shown(FLAGS_tenant_max_rate), Shown(FLAGS_batch_delay_us),
           Shown(FLAGS_batch_bytes), Shown(FLAGS_device_budget_bytes)},
          ReadQueue};
}

}  // namespace corank
