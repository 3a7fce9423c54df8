// A client that keeps a fixed number of calls in flight: each answer sends the next request.
//
// It calls by the light client, which does the same minimal work for every server, so that the figures compare the
// servers.
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
#include "bench/service/light_client.h"
#include "bench/service/stages.h"
#include "corank/v1/operators.pb.h"

namespace corank::bench {

/// `count` separate connections to one server, by gRPC.
std::vector<std::shared_ptr<grpc::Channel>> Connect(const std::string& address, int count);

absl::Status FromGrpc(const grpc::Status& status);

struct LoopResult {
  std::vector<double> latency_us;  // of every call that was answered
  std::vector<StageTimes> stages;  // of those whose response has stats
  double seconds = 0;              // from the first request to the last answer
};

/// Keeps `in_flight` calls open until `duration` has passed, as evenly on the client's threads as can be. The first
/// error ends the loop and is returned. `stats_field`: the response's field of RequestStats; 0: none.
absl::StatusOr<LoopResult> RunClosedLoop(LightClient& client, const LightRequest& request, int stats_field,
                                         int in_flight, absl::Duration duration);

/// Makes the call once.
absl::StatusOr<grpc::ByteBuffer> CallOnce(LightClient& client, const LightRequest& request);

/// Reads only this field of a response, its RequestStats, and skips payloads. Default values if there are none or the
/// bytes are not a message.
corank::v1::RequestStats ReadStats(grpc::ByteBuffer* response, int stats_field);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_CLOSED_LOOP_H_
