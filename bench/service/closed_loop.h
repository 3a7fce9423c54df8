// A client that keeps a fixed number of calls in flight: each answer sends the next request.
//
// Requests are sent from, and answers kept in, gRPC's own byte buffers: the client does the same work for every server,
// and as little as it can, so that what is compared is the servers.
#ifndef CORANK_BENCH_SERVICE_CLOSED_LOOP_H_
#define CORANK_BENCH_SERVICE_CLOSED_LOOP_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/service/stages.h"
#include "corank/v1/operators.pb.h"

namespace corank::bench {

/// `count` connections to one server, none shared.
std::vector<std::shared_ptr<grpc::Channel>> Connect(const std::string& address, int count);

absl::Status FromGrpc(const grpc::Status& status);

/// A call of one message each way, as it is sent again and again.
struct UnaryCall {
  std::string method;
  grpc::ByteBuffer request;
  int stats_field = 0;  // of the response, where its RequestStats are; 0: it has none
};

struct LoopResult {
  std::vector<double> latency_us;  // of every call that was answered
  std::vector<StageTimes> stages;  // of those whose response has stats
  double seconds = 0;              // from the first request to the last answer
};

/// Makes the call `in_flight` times at once, again and again, call i on channel i modulo their number, and starts none
/// after `duration`. The first error ends the loop and is returned.
absl::StatusOr<LoopResult> RunClosedLoop(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                                         const UnaryCall& call, int in_flight, absl::Duration duration);

/// Makes the call once.
absl::StatusOr<grpc::ByteBuffer> CallOnce(const std::shared_ptr<grpc::Channel>& channel, const UnaryCall& call);

/// Reads this field of a response, its RequestStats, and nothing else: payloads are stepped over. Default values if
/// there are none or the bytes are not a message.
corank::v1::RequestStats ReadStats(grpc::ByteBuffer* response, int stats_field);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_CLOSED_LOOP_H_
