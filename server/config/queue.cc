#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"
#include "server/execute/status_macros.h"

ABSL_FLAG(int32_t, max_queued_requests, 1024, "Requests that may wait, 1 or more.");
ABSL_FLAG(corank::ByteCount, max_queued_bytes, int64_t{4} << 30,
          "Bytes of the requests that may wait, --max-request-bytes or more.");
ABSL_FLAG(corank::ByteCount, direct_bytes, 16 << 10,
          "A request of at most this many bytes runs on the thread that brings it, while nothing waits. 0: none does.");
ABSL_FLAG(
    corank::ByteCount, host_bytes, 64 << 10,
    "A request whose arrays and results, all of them in its messages, are at most this many bytes is done at once "
    "by the host's processor, on the thread that brings it and past the queue; its response says so. Sorts, and "
    "merges of up to eight arrays, of keys of 4 bytes or more alone, and interval operators may have twice as many. "
    "0: none is.");

ABSL_FLAG(std::vector<std::string>, tenant_weights, {},
          "Shares of tenants while they wait at one priority, NAME=WEIGHT with commas between, 0.001 to 1000; a tenant "
          "that is not named has 1.");
ABSL_FLAG(int32_t, tenant_max_queued_requests, 0,
          "Requests of one tenant that may wait. 0: a tenant with a name leaves some room to others, that is all.");
ABSL_FLAG(corank::ByteCount, tenant_max_queued_bytes, 0,
          "Bytes of the requests of one tenant that may wait, --max-request-bytes or more. 0: as above.");
ABSL_FLAG(int32_t, batch_delay_us, 0,
          "Microseconds that a small request waits for others while a lane is free, 0 to 1000000.");
ABSL_FLAG(corank::ByteCount, batch_bytes, 1 << 20, "Bytes of the small requests that go to a lane as one batch.");
ABSL_FLAG(
    corank::ByteCount, device_budget_bytes, 0,
    "Device memory that requests in work may take together, in bytes, 1MiB or more; others wait. 0: nine tenths of "
    "the device's, less --kept-bytes; with the CPU engine, of half of what the other budgets leave.");

namespace corank {
namespace {

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
  AdmissionQueue::Options& queue = server.queue;
  CORANK_RETURN_IF_ERROR(ReadWeights(queue.weights));
  queue.tenant_max_requests = absl::GetFlag(FLAGS_tenant_max_queued_requests);
  CORANK_RETURN_IF_ERROR(
      CheckRange("tenant-max-queued-requests", queue.tenant_max_requests, 0, std::numeric_limits<int32_t>::max()));
  queue.tenant_max_bytes = absl::GetFlag(FLAGS_tenant_max_queued_bytes);
  if (queue.tenant_max_bytes != 0 && queue.tenant_max_bytes < server.limits.max_request_bytes) {
    return BadValue(
        "tenant-max-queued-bytes",
        absl::StrCat(queue.tenant_max_bytes, " is less than --max-request-bytes, ", server.limits.max_request_bytes));
  }
  return absl::OkStatus();
}

absl::Status ReadBatches(Server::Options& server) {
  const int32_t delay_us = absl::GetFlag(FLAGS_batch_delay_us);
  CORANK_RETURN_IF_ERROR(CheckRange("batch-delay-us", delay_us, 0, 1'000'000));
  server.batch.delay = absl::Microseconds(delay_us);
  server.batch.max_bytes = absl::GetFlag(FLAGS_batch_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("batch-bytes", server.batch.max_bytes, 0, int64_t{1} << 30));
  server.device_budget_bytes = absl::GetFlag(FLAGS_device_budget_bytes);
  if (server.device_budget_bytes == 0) return absl::OkStatus();
  return CheckRange("device-budget-bytes", server.device_budget_bytes, int64_t{1} << 20,
                    std::numeric_limits<int64_t>::max());
}

absl::Status ReadQueue(Configuration& configuration) {
  Server::Options& server = configuration.server;
  server.queue.max_requests = absl::GetFlag(FLAGS_max_queued_requests);
  CORANK_RETURN_IF_ERROR(
      CheckRange("max-queued-requests", server.queue.max_requests, 1, std::numeric_limits<int32_t>::max()));
  server.queue.max_bytes = absl::GetFlag(FLAGS_max_queued_bytes);
  if (server.queue.max_bytes < server.limits.max_request_bytes) {
    return BadValue("max-queued-bytes", absl::StrCat(server.queue.max_bytes, " is less than --max-request-bytes, ",
                                                     server.limits.max_request_bytes));
  }
  CORANK_RETURN_IF_ERROR(ReadShares(server));
  CORANK_RETURN_IF_ERROR(ReadBatches(server));
  server.long_queue = server.queue;
  server.queue.direct_bytes = absl::GetFlag(FLAGS_direct_bytes);
  CORANK_RETURN_IF_ERROR(CheckRange("direct-bytes", server.queue.direct_bytes, 0, int64_t{1} << 20));
  server.queue.host_bytes = absl::GetFlag(FLAGS_host_bytes);
  return CheckRange("host-bytes", server.queue.host_bytes, 0, int64_t{1} << 20);
}

}  // namespace

const Group& QueueGroup() {
  static const auto* const group =
      new Group{"queue",
                "What waits, and what is refused",
                {Shown(FLAGS_max_queued_requests), Shown(FLAGS_max_queued_bytes), Shown(FLAGS_direct_bytes),
                 Shown(FLAGS_host_bytes), Hidden(FLAGS_tenant_weights), Shown(FLAGS_tenant_max_queued_requests),
                 Shown(FLAGS_tenant_max_queued_bytes), Shown(FLAGS_batch_delay_us), Shown(FLAGS_batch_bytes),
                 Shown(FLAGS_device_budget_bytes)},
                ReadQueue};
  return *group;
}

}  // namespace corank
