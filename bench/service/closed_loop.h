// A client that keeps a fixed number of calls in flight: each answer sends the next request.
//
// Requests are sent from, and answers kept in, gRPC's own byte buffers: the client does the same work for every server,
// and as little as it can, so that what is compared is the servers.
#ifndef CORANK_BENCH_SERVICE_CLOSED_LOOP_H_
#define CORANK_BENCH_SERVICE_CLOSED_LOOP_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corank/v1/operators.pb.h"

namespace corank::bench {

/// `count` connections to one server, none shared.
std::vector<std::shared_ptr<grpc::Channel>> Connect(const std::string& address, int count);

/// The stages of one call as its response states them.
struct StageTimes {
  int64_t queue_ns = 0, copy_in_ns = 0, kernel_ns = 0, copy_out_ns = 0;
};

struct LoopResult {
  std::vector<double> latency_us;  // of every call that was answered
  std::vector<StageTimes> stages;  // of those whose response has stats
  double seconds = 0;              // from the first request to the last answer
};

/// Sends `request` to `method` with `in_flight` calls at a time, call i on channel i modulo their number, and starts no
/// call after `duration`. The first error ends the loop and is returned.
absl::StatusOr<LoopResult> RunClosedLoop(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                                         const std::string& method, const grpc::ByteBuffer& request, int in_flight,
                                         absl::Duration duration);

/// One call.
absl::StatusOr<grpc::ByteBuffer> CallOnce(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                                          const grpc::ByteBuffer& request);

/// Reads SortResponse.stats and nothing else: the payload is stepped over. Default values if there are none or the
/// bytes are not a message.
corank::v1::RequestStats ReadSortStats(grpc::ByteBuffer* response);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_CLOSED_LOOP_H_
