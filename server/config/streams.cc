#include <cstdint>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/status_macros.h"
#include "server/config/byte_count.h"
#include "server/config/groups.h"

ABSL_FLAG(corank::ByteCount, stream_window_bytes, int64_t{64} << 20,
          "Pinned host memory that buffers the incoming chunks of one stream, and as much again for its answer, 4MiB "
          "to --host-pool-bytes. A stream makes do with less while half of the pool is in use.");
ABSL_FLAG(
    corank::ByteCount, max_device_bytes, 0,
    "Device memory that one stream, or one large sort or merge in shared memory, may take, 1MiB to "
    "--device-budget-bytes. Merges, and sorts of keys without segments, work out of core if their arrays are larger "
    "than half of it. Sorts by columns or segments do if they need more than all of it, and so do searches and "
    "interval operators with streams larger than that. "
    "0: three quarters of the device's memory, "
    "divided by the number of long lanes, at most four.");
ABSL_FLAG(corank::ByteCount, max_stream_host_bytes, 0,
          "Host memory that the arrays of one stream may take beside its window. 0: half of the memory available to "
          "this process, or less if the other budgets leave less, divided by the number of long lanes, at most four.");
ABSL_FLAG(absl::Duration, stream_idle_timeout, absl::Minutes(1),
          "The server ends a running stream whose caller neither sends nor reads for this long, 1s to 24h.");

namespace corank {
namespace {

absl::Status ReadStreams(Configuration& configuration) {
  const Server::Options& server = configuration.server;
  StreamOptions& streams = configuration.server.streams;
  CORANK_RETURN_IF_ERROR(
      Take(FLAGS_stream_window_bytes, streams.window_bytes, int64_t{4} << 20, server.host_pool.max_bytes));
  const int64_t least = LeastStreamBytes(streams.window_bytes, server.limits.max_chunk_bytes);
  if (server.host_pool.max_bytes < least) {
    return BadValue("host-pool-bytes", absl::StrCat(server.host_pool.max_bytes, " is less than the ", least,
                                                    " that a stream needs: a chunk of ", server.limits.max_chunk_bytes,
                                                    ", and a piece of its answer"));
  }
  streams.max_device_bytes = absl::GetFlag(FLAGS_max_device_bytes);
  if (streams.max_device_bytes != 0) {
    CORANK_RETURN_IF_ERROR(Take(FLAGS_max_device_bytes, streams.max_device_bytes, int64_t{1} << 20));
    if (server.device_budget_bytes != 0 && streams.max_device_bytes > server.device_budget_bytes) {
      return BadValue(
          "max-device-bytes",
          absl::StrCat(streams.max_device_bytes, " is more than --device-budget-bytes, ", server.device_budget_bytes));
    }
  }
  CORANK_RETURN_IF_ERROR(Take(FLAGS_max_stream_host_bytes, streams.max_host_bytes, 0));
  return Take(FLAGS_stream_idle_timeout, streams.idle_timeout, absl::Seconds(1));
}

}  // namespace

Group StreamsGroup() {
  return {"streams",
          "Streams (Execute)",
          {Shown(FLAGS_stream_window_bytes), Shown(FLAGS_max_device_bytes), Shown(FLAGS_max_stream_host_bytes),
           Shown(FLAGS_stream_idle_timeout)},
          ReadStreams};
}

}  // namespace corank
