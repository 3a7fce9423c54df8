// A minimal client of Execute: messages stay in gRPC's own byte buffers, and arrays are never copied.
#ifndef CORANK_BENCH_SERVICE_STREAM_CLIENT_H_
#define CORANK_BENCH_SERVICE_STREAM_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/service/stream_work.h"
#include "corank/v1/operators.pb.h"

namespace corank::bench {

/// One call: a range of each input of a job.
struct StreamCall {
  std::shared_ptr<grpc::Channel> channel;
  const StreamWork* work = nullptr;  // outlives the call
  std::string job_id;                // with parts > 1
  int part = 0, parts = 1;
};

/// The answer of a call: chunks and results in order of arrival, and their times since the start of the call.
struct StreamAnswer {
  std::vector<grpc::ByteBuffer> messages;
  absl::Duration sent = {};   // gRPC had accepted the last chunk, as far as its window allowed
  absl::Duration first = {};  // the first message had arrived
  absl::Duration ended = {};
};

/// Runs the calls concurrently, each on its own thread that sends and receives, and returns their answers once all have
/// ended, or the first error.
absl::StatusOr<std::vector<StreamAnswer>> RunStreamCalls(const std::vector<StreamCall>& calls, int64_t chunk_bytes);

/// The stats of the answer's result; default values if it has none, as the echo server's.
v1::RequestStats ReadStats(const StreamAnswer& answer);

/// The keys of the chunks, joined: streams of the given counts, one after the other. An error unless each key came
/// exactly once.
absl::StatusOr<std::vector<uint32_t>> JoinChunks(const std::vector<StreamAnswer>& answers,
                                                 const std::vector<int64_t>& counts);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_STREAM_CLIENT_H_
